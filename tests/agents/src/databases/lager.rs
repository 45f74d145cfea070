//! A wholesaler in German: names with upper case, spaces and umlauts, which need quotes in SQL.

use super::Database;

/// Returns the database.
pub(super) fn database() -> Database {
    Database {
        scripts: vec![GOODS.to_owned(), SALES.to_owned(), ROWS.to_owned()],
        glossary: Some(include_str!("../../glossary/lager.yaml")),
        ..Database::new("lager", include_str!("../../questions/lager.yaml"))
    }
}

const GOODS: &str = r#"
CREATE SCHEMA "Lager";
CREATE SCHEMA "Verkauf";
CREATE SCHEMA "Einkauf";
COMMENT ON SCHEMA "Lager" IS 'Artikel und Bestände';
CREATE TYPE "Verkauf"."Auftragsstatus" AS ENUM
    ('offen', 'in Bearbeitung', 'versandt', 'storniert');
CREATE TYPE "Lager"."Gefahrklasse" AS ENUM ('keine', 'brennbar', 'ätzend', 'giftig');

CREATE TABLE "Lager"."Warengruppe" (
    "Kürzel" char(3) PRIMARY KEY,
    "Bezeichnung" text NOT NULL,
    "Übergruppe" char(3) REFERENCES "Lager"."Warengruppe"
);
CREATE TABLE "Lager"."Artikel" (
    "ArtikelNr" int PRIMARY KEY,
    "Bezeichnung" text NOT NULL,
    "Warengruppe" char(3) NOT NULL REFERENCES "Lager"."Warengruppe",
    "Preis netto" numeric(10, 2) NOT NULL CHECK ("Preis netto" > 0),
    "Gewicht (kg)" numeric(8, 3),
    "Gefahrklasse" "Lager"."Gefahrklasse" NOT NULL DEFAULT 'keine',
    "Maße" int[],
    "Eigenschaften" jsonb NOT NULL DEFAULT '{}'
);
COMMENT ON TABLE "Lager"."Artikel" IS 'Waren, die wir führen';
COMMENT ON COLUMN "Lager"."Artikel"."Maße" IS 'Länge, Breite und Höhe in Zentimetern';
COMMENT ON COLUMN "Lager"."Artikel"."Eigenschaften" IS 'JSON mit Farbe und Material';
CREATE TABLE "Lager"."Lagerort" (
    "Ort Nr" int PRIMARY KEY,
    "Halle" text NOT NULL,
    "Regal" int NOT NULL,
    "gekühlt" boolean NOT NULL,
    "Höchstlast kg" int NOT NULL
);
COMMENT ON TABLE "Lager"."Lagerort" IS 'Plätze in den Hallen';
CREATE TABLE "Lager"."Bestand" (
    "Ort Nr" int REFERENCES "Lager"."Lagerort",
    "ArtikelNr" int REFERENCES "Lager"."Artikel",
    "Menge" int NOT NULL CHECK ("Menge" >= 0),
    "Mindestmenge" int NOT NULL,
    "letzte Inventur" date,
    PRIMARY KEY ("Ort Nr", "ArtikelNr")
);
COMMENT ON COLUMN "Lager"."Bestand"."Mindestmenge" IS 'Darunter wird nachbestellt';
CREATE TABLE "Lager"."Umbuchung" (
    "Nr" int PRIMARY KEY,
    "von Ort" int NOT NULL REFERENCES "Lager"."Lagerort",
    "nach Ort" int NOT NULL REFERENCES "Lager"."Lagerort",
    "ArtikelNr" int NOT NULL REFERENCES "Lager"."Artikel",
    "Menge" int NOT NULL,
    "gebucht am" timestamptz NOT NULL
);
COMMENT ON TABLE "Lager"."Umbuchung" IS 'Ware, die im Lager den Platz gewechselt hat';

CREATE TABLE "Einkauf"."Lieferant" (
    "LieferantNr" int PRIMARY KEY,
    "Firma" text NOT NULL,
    "Land" text NOT NULL,
    "Bewertung" text NOT NULL CHECK ("Bewertung" IN ('gut', 'mittel', 'schlecht'))
);
CREATE TABLE "Einkauf"."Bestellung" (
    "BestellNr" int PRIMARY KEY,
    "LieferantNr" int NOT NULL REFERENCES "Einkauf"."Lieferant",
    "bestellt am" date NOT NULL,
    "geliefert am" date
);
COMMENT ON TABLE "Einkauf"."Bestellung" IS 'Was wir bei Lieferanten bestellen';
CREATE TABLE "Einkauf"."Bestell Position" (
    "BestellNr" int REFERENCES "Einkauf"."Bestellung",
    "Pos" int,
    "ArtikelNr" int NOT NULL REFERENCES "Lager"."Artikel",
    "Menge" int NOT NULL,
    "Einkaufspreis" numeric(10, 2) NOT NULL,
    PRIMARY KEY ("BestellNr", "Pos")
);
"#;

const SALES: &str = r#"
CREATE TABLE "Verkauf"."Kunden" (
    "KundenNr" int PRIMARY KEY,
    "Name" text NOT NULL,
    "Straße" text NOT NULL,
    "PLZ" char(5) NOT NULL,
    "Ort" text NOT NULL,
    "Kundenart" text NOT NULL CHECK ("Kundenart" IN ('Händler', 'Endkunde', 'Behörde')),
    "Kreditlimit" numeric(12, 2),
    "gesperrt" boolean NOT NULL DEFAULT false
);
COMMENT ON COLUMN "Verkauf"."Kunden"."gesperrt" IS 'Wahr, wenn nicht mehr geliefert wird';
CREATE TABLE "Verkauf"."Aufträge" (
    "AuftragsNr" int PRIMARY KEY,
    "KundenNr" int NOT NULL REFERENCES "Verkauf"."Kunden",
    "Status" "Verkauf"."Auftragsstatus" NOT NULL,
    "eingegangen am" date NOT NULL,
    "Liefertermin" date,
    "Vertreter" int
);
COMMENT ON TABLE "Verkauf"."Aufträge" IS 'Was Kunden bei uns bestellen';
CREATE TABLE "Verkauf"."Auftrags Position" (
    "AuftragsNr" int REFERENCES "Verkauf"."Aufträge",
    "Pos" int,
    "ArtikelNr" int NOT NULL REFERENCES "Lager"."Artikel",
    "Menge" int NOT NULL,
    "Rabatt %" numeric(4, 1) NOT NULL DEFAULT 0,
    "Einzelpreis" numeric(10, 2) NOT NULL,
    PRIMARY KEY ("AuftragsNr", "Pos")
);
CREATE TABLE "Verkauf"."Vertreter" (
    "VertreterNr" int PRIMARY KEY,
    "Vorname" text NOT NULL,
    "Nachname" text NOT NULL,
    "Gebiet" text NOT NULL CHECK ("Gebiet" IN ('Nord', 'Süd', 'Ost', 'West')),
    "Provision %" numeric(4, 1) NOT NULL
);
COMMENT ON TABLE "Verkauf"."Vertreter" IS 'Außendienst';
ALTER TABLE "Verkauf"."Aufträge" ADD FOREIGN KEY ("Vertreter") REFERENCES "Verkauf"."Vertreter";
CREATE TABLE "Verkauf"."Rechnung" (
    "RechnungsNr" int PRIMARY KEY,
    "AuftragsNr" int NOT NULL REFERENCES "Verkauf"."Aufträge",
    "Rechnungsdatum" date NOT NULL,
    "Betrag brutto" numeric(12, 2) NOT NULL,
    "bezahlt am" date,
    "Mahnstufe" int NOT NULL DEFAULT 0 CHECK ("Mahnstufe" BETWEEN 0 AND 3)
);
COMMENT ON COLUMN "Verkauf"."Rechnung"."Mahnstufe" IS 'Anzahl der Mahnungen, die verschickt wurden';
CREATE TABLE "Verkauf"."Reklamation" (
    "Nr" int PRIMARY KEY,
    "AuftragsNr" int NOT NULL,
    "Pos" int NOT NULL,
    "Grund" text NOT NULL CHECK ("Grund" IN ('beschädigt', 'falsche Ware', 'zu spät')),
    "gemeldet am" date NOT NULL,
    "erledigt" boolean NOT NULL,
    FOREIGN KEY ("AuftragsNr", "Pos") REFERENCES "Verkauf"."Auftrags Position"
);
CREATE VIEW "Verkauf"."Offene Posten" AS
    SELECT r."RechnungsNr", a."KundenNr", r."Betrag brutto", r."Rechnungsdatum", r."Mahnstufe"
    FROM "Verkauf"."Rechnung" r JOIN "Verkauf"."Aufträge" a ON a."AuftragsNr" = r."AuftragsNr"
    WHERE r."bezahlt am" IS NULL;
COMMENT ON VIEW "Verkauf"."Offene Posten" IS 'Rechnungen, die noch nicht bezahlt sind';
"#;

const ROWS: &str = r#"
INSERT INTO "Lager"."Warengruppe" VALUES ('WZG', 'Werkzeug', NULL), ('FAR', 'Farben', NULL),
    ('LAC', 'Lacke', 'FAR'), ('SCH', 'Schrauben', 'WZG');
INSERT INTO "Lager"."Artikel"
    SELECT n, (ARRAY['Hammer', 'Wandfarbe', 'Klarlack', 'Schraube'])[n % 4 + 1] || ' ' || n,
        (ARRAY['WZG', 'FAR', 'LAC', 'SCH'])[n % 4 + 1], 2.5 + n, n * 0.25,
        (ARRAY['keine', 'keine', 'brennbar', 'giftig'])[n % 4 + 1]::"Lager"."Gefahrklasse",
        ARRAY[10 + n, 5 + n % 40, n % 25], jsonb_build_object('Farbe',
            (ARRAY['rot', 'blau', 'weiß'])[n % 3 + 1], 'Material', 'Stahl')
    FROM generate_series(1, 80) n;
INSERT INTO "Lager"."Lagerort"
    SELECT n, 'Halle ' || chr(65 + n % 3), n, n % 5 = 0, 200 + n * 10 FROM generate_series(1, 20) n;
INSERT INTO "Lager"."Bestand"
    SELECT o, a, (o * a) % 90, 20, date '2024-01-01' + a FROM generate_series(1, 20) o,
        generate_series(1, 80) a WHERE (o + a) % 4 = 0;
INSERT INTO "Lager"."Umbuchung"
    SELECT n, n % 20 + 1, (n + 7) % 20 + 1, n % 80 + 1, n % 12 + 1,
        timestamptz '2024-03-01 06:00+00' + n * interval '17 hours'
    FROM generate_series(1, 100) n;
INSERT INTO "Einkauf"."Lieferant"
    SELECT n, 'Lieferant ' || n, (ARRAY['Deutschland', 'Polen', 'Österreich'])[n % 3 + 1],
        (ARRAY['gut', 'mittel', 'schlecht'])[n % 3 + 1] FROM generate_series(1, 12) n;
INSERT INTO "Einkauf"."Bestellung"
    SELECT n, n % 12 + 1, date '2024-01-05' + n * 3,
        CASE WHEN n % 4 > 0 THEN date '2024-01-12' + n * 3 + n % 6 END FROM generate_series(1, 90) n;
INSERT INTO "Einkauf"."Bestell Position"
    SELECT b, p, (b * 3 + p) % 80 + 1, 10 + b % 50, 1.5 + p
    FROM generate_series(1, 90) b, generate_series(1, 3) p;
INSERT INTO "Verkauf"."Vertreter" VALUES (1, 'Anke', 'Lorenz', 'Nord', 2.5),
    (2, 'Jörg', 'Weiß', 'Süd', 3), (3, 'Petra', 'Schön', 'West', 2), (4, 'Uwe', 'Krüger', 'Ost', 3),
    (5, 'Ina', 'Bär', 'Süd', 2.5), (6, 'Kai', 'Voß', 'Nord', 2), (7, 'Eva', 'Roth', 'West', 3),
    (8, 'Max', 'Groß', 'Ost', 2);
INSERT INTO "Verkauf"."Kunden"
    SELECT n, 'Kunde ' || n, 'Hauptstraße ' || n, lpad((20000 + n * 13)::text, 5, '0'),
        (ARRAY['Köln', 'München', 'Hamburg', 'Leipzig'])[n % 4 + 1],
        (ARRAY['Händler', 'Händler', 'Endkunde', 'Behörde'])[n % 4 + 1], n * 500, n % 13 = 0
    FROM generate_series(1, 60) n;
INSERT INTO "Verkauf"."Aufträge"
    SELECT n, n % 60 + 1, (ARRAY['offen', 'in Bearbeitung', 'versandt', 'versandt', 'storniert'])
        [n % 5 + 1]::"Verkauf"."Auftragsstatus", date '2024-01-02' + n,
        CASE WHEN n % 3 > 0 THEN date '2024-01-09' + n END, n % 8 + 1
    FROM generate_series(1, 260) n;
INSERT INTO "Verkauf"."Auftrags Position"
    SELECT a, p, (a * 5 + p * 7) % 80 + 1, (a + p) % 9 + 1, a % 4 * 2.5, 3 + p
    FROM generate_series(1, 260) a, generate_series(1, 3) p;
INSERT INTO "Verkauf"."Rechnung"
    SELECT n, n, date '2024-01-20' + n, 50 + n * 2, CASE WHEN n % 5 > 0 THEN date '2024-02-01' + n END,
        CASE WHEN n % 5 = 0 THEN n % 4 ELSE 0 END
    FROM generate_series(1, 240) n;
INSERT INTO "Verkauf"."Reklamation"
    SELECT n, n * 6, n % 3 + 1, (ARRAY['beschädigt', 'falsche Ware', 'zu spät'])[n % 3 + 1],
        date '2024-02-01' + n, n % 2 = 0 FROM generate_series(1, 40) n;
"#;
