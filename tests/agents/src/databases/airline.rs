//! An airline: flights by month, bookings by hash, baggage by list of states.

use super::Database;

/// Returns the database.
pub(super) fn database() -> Database {
    let months = (1..=12).map(|month| {
        let (year, next) = if month == 12 {
            (2025, 1)
        } else {
            (2024, month + 1)
        };
        format!(
            "CREATE TABLE ops.flight_2024_{month:02} PARTITION OF ops.flight \
             FOR VALUES FROM ('2024-{month:02}-01') TO ('{year}-{next:02}-01');\n"
        )
    });
    let parts = (0..8).map(|part| {
        format!(
            "CREATE TABLE res.booking_p{part} PARTITION OF res.booking \
             FOR VALUES WITH (MODULUS 8, REMAINDER {part});\n"
        )
    });
    let flights = FLIGHTS.to_owned() + &months.collect::<String>();
    let bookings = BOOKINGS.to_owned() + &parts.collect::<String>();
    Database {
        scripts: vec![BASE.to_owned(), flights, bookings, ROWS.to_owned()],
        ..Database::new("airline", include_str!("../../questions/airline.yaml"))
    }
}

const BASE: &str = "
CREATE SCHEMA fleet;
CREATE SCHEMA ops;
CREATE SCHEMA res;
CREATE SCHEMA crew;
COMMENT ON SCHEMA ops IS 'Operations: routes, flights, delays';
COMMENT ON SCHEMA res IS 'Reservations: passengers, bookings, tickets';
CREATE TYPE ops.flight_state AS ENUM
    ('scheduled', 'boarding', 'departed', 'landed', 'cancelled', 'diverted');
CREATE TYPE res.cabin AS ENUM ('economy', 'premium', 'business');
CREATE TYPE crew.duty AS ENUM ('captain', 'first_officer', 'purser', 'attendant');

CREATE TABLE fleet.aircraft_type (
    icao char(4) PRIMARY KEY,
    maker text NOT NULL,
    model text NOT NULL,
    range_km int NOT NULL
);
CREATE TABLE fleet.aircraft (
    tail_number text PRIMARY KEY,
    type_icao char(4) NOT NULL REFERENCES fleet.aircraft_type,
    seats_economy int NOT NULL,
    seats_business int NOT NULL,
    delivered_on date NOT NULL,
    retired_on date
);
COMMENT ON TABLE fleet.aircraft IS 'Planes of the company, by registration';
CREATE TABLE fleet.maintenance (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tail_number text NOT NULL REFERENCES fleet.aircraft,
    check_kind char(1) NOT NULL CHECK (check_kind IN ('A', 'B', 'C', 'D')),
    done_on date NOT NULL,
    hours numeric(6, 1) NOT NULL,
    findings text[] NOT NULL DEFAULT '{}'
);
COMMENT ON COLUMN fleet.maintenance.check_kind IS 'A and B are light, C and D heavy checks';

CREATE TABLE ops.airport (
    iata char(3) PRIMARY KEY,
    name text NOT NULL,
    city text NOT NULL,
    country text NOT NULL,
    utc_offset interval NOT NULL
);
CREATE TABLE ops.route (
    id int PRIMARY KEY,
    flight_number text NOT NULL UNIQUE,
    origin char(3) NOT NULL REFERENCES ops.airport,
    destination char(3) NOT NULL REFERENCES ops.airport,
    distance_km int NOT NULL CHECK (distance_km > 0),
    days_of_week int[] NOT NULL
);
COMMENT ON TABLE ops.route IS 'Connections with a flight number';
COMMENT ON COLUMN ops.route.days_of_week IS '1 is Monday, 7 is Sunday';
";

const FLIGHTS: &str = "
CREATE TABLE ops.flight (
    route_id int NOT NULL REFERENCES ops.route,
    day date NOT NULL,
    tail_number text NOT NULL REFERENCES fleet.aircraft,
    state ops.flight_state NOT NULL,
    departs_at timestamptz NOT NULL,
    departed_at timestamptz,
    arrived_at timestamptz,
    PRIMARY KEY (route_id, day)
) PARTITION BY RANGE (day);
COMMENT ON TABLE ops.flight IS 'A route on a day; partitioned by month';
COMMENT ON COLUMN ops.flight.departs_at IS 'Planned time of departure';
COMMENT ON COLUMN ops.flight.departed_at IS 'Actual time of departure';
CREATE TABLE ops.delay (
    route_id int,
    day date,
    position int,
    code text NOT NULL CHECK (code IN ('WX', 'TECH', 'ATC', 'CREW', 'PAX')),
    minutes int NOT NULL,
    PRIMARY KEY (route_id, day, position),
    FOREIGN KEY (route_id, day) REFERENCES ops.flight
);
COMMENT ON TABLE ops.delay IS 'Causes of a late departure, one row per cause';
COMMENT ON COLUMN ops.delay.code IS
    'WX weather, TECH technical, ATC air traffic control, CREW crew, PAX passengers';
CREATE TABLE crew.member (
    id int PRIMARY KEY,
    name text NOT NULL,
    base char(3) NOT NULL REFERENCES ops.airport,
    licence_until date
);
COMMENT ON TABLE crew.member IS 'Pilots and cabin staff';
CREATE TABLE crew.assignment (
    member_id int REFERENCES crew.member,
    route_id int,
    day date,
    duty crew.duty NOT NULL,
    PRIMARY KEY (member_id, route_id, day),
    FOREIGN KEY (route_id, day) REFERENCES ops.flight
);
CREATE VIEW ops.late_flight AS
    SELECT f.route_id, f.day, f.departed_at - f.departs_at AS delay
    FROM ops.flight f WHERE f.departed_at > f.departs_at + interval '15 minutes';
COMMENT ON VIEW ops.late_flight IS 'Flights that left more than 15 minutes late';
";

const BOOKINGS: &str = "
CREATE TABLE res.passenger (
    id bigint PRIMARY KEY,
    surname text NOT NULL,
    given_names text NOT NULL,
    nationality char(2) NOT NULL,
    frequent_flyer_level text CHECK (frequent_flyer_level IN ('blue', 'silver', 'platinum'))
);
COMMENT ON COLUMN res.passenger.frequent_flyer_level IS 'Null without membership';
CREATE TABLE res.booking (
    reference char(6) NOT NULL,
    booked_at timestamptz NOT NULL,
    channel text NOT NULL CHECK (channel IN ('web', 'app', 'agency', 'phone')),
    contact jsonb NOT NULL,
    total_amount numeric(10, 2) NOT NULL,
    currency char(3) NOT NULL DEFAULT 'EUR',
    PRIMARY KEY (reference)
) PARTITION BY HASH (reference);
COMMENT ON COLUMN res.booking.reference IS 'Code of six letters on the confirmation (PNR)';
COMMENT ON COLUMN res.booking.contact IS 'JSON with email, phone and language';
CREATE TABLE res.ticket (
    booking_reference char(6) NOT NULL REFERENCES res.booking,
    coupon_no int NOT NULL,
    passenger_id bigint NOT NULL REFERENCES res.passenger,
    route_id int NOT NULL,
    day date NOT NULL,
    cabin res.cabin NOT NULL,
    seat text,
    fare numeric(10, 2) NOT NULL,
    checked_in_at timestamptz,
    PRIMARY KEY (booking_reference, coupon_no),
    FOREIGN KEY (route_id, day) REFERENCES ops.flight
);
COMMENT ON TABLE res.ticket IS 'A passenger on a flight';
CREATE TABLE res.bag (
    tag bigint,
    booking_reference char(6) NOT NULL,
    coupon_no int NOT NULL,
    weight_kg numeric(4, 1) NOT NULL,
    state text NOT NULL CHECK (state IN ('checked', 'loaded', 'delivered', 'lost', 'damaged')),
    PRIMARY KEY (tag, state),
    FOREIGN KEY (booking_reference, coupon_no) REFERENCES res.ticket
) PARTITION BY LIST (state);
COMMENT ON TABLE res.bag IS 'Checked baggage (luggage)';
CREATE TABLE res.bag_moving PARTITION OF res.bag FOR VALUES IN ('checked', 'loaded');
CREATE TABLE res.bag_claimed PARTITION OF res.bag FOR VALUES IN ('lost', 'damaged');
CREATE TABLE res.bag_done PARTITION OF res.bag DEFAULT;
";

const ROWS: &str = "
INSERT INTO fleet.aircraft_type VALUES ('A320', 'Airbus', 'A320-200', 6100),
    ('B738', 'Boeing', '737-800', 5700), ('E190', 'Embraer', '190', 4500);
INSERT INTO fleet.aircraft
    SELECT 'D-AB' || chr(64 + n) || 'Q', (ARRAY['A320', 'B738', 'E190'])[n % 3 + 1], 90 + n % 3 * 30,
        n % 3 * 8, date '2008-03-01' + n * 300, CASE WHEN n = 1 THEN date '2024-02-01' END
    FROM generate_series(1, 14) n;
INSERT INTO fleet.maintenance (tail_number, check_kind, done_on, hours, findings)
    SELECT a.tail_number, (ARRAY['A', 'A', 'B', 'C'])[n % 4 + 1], date '2024-01-05' + n * 20, n * 7.5,
        CASE WHEN n % 3 = 0 THEN ARRAY['corrosion', 'worn tyre'] ELSE '{}' END
    FROM fleet.aircraft a, generate_series(1, 9) n;
INSERT INTO ops.airport VALUES ('FRA', 'Frankfurt Airport', 'Frankfurt', 'Germany', '1 hour'),
    ('MAD', 'Barajas', 'Madrid', 'Spain', '1 hour'), ('LIS', 'Portela', 'Lisbon', 'Portugal', '0'),
    ('ATH', 'Eleftherios Venizelos', 'Athens', 'Greece', '2 hours'),
    ('OSL', 'Gardermoen', 'Oslo', 'Norway', '1 hour');
INSERT INTO ops.route
    SELECT n, 'ZG' || 100 + n, o.iata, d.iata, 700 + n * 90, ARRAY[1, 3, 5 + n % 3]
    FROM (SELECT row_number() OVER (ORDER BY a.iata, b.iata)::int AS n, a.iata AS a, b.iata AS b
          FROM ops.airport a JOIN ops.airport b ON a.iata <> b.iata) x
        JOIN ops.airport o ON o.iata = x.a JOIN ops.airport d ON d.iata = x.b;
INSERT INTO ops.flight
    SELECT r.id, d::date, 'D-AB' || chr(66 + (r.id + extract(doy FROM d)::int) % 13) || 'Q',
        (CASE WHEN (r.id + extract(doy FROM d)::int) % 19 = 0 THEN 'cancelled'
              WHEN (r.id + extract(doy FROM d)::int) % 37 = 1 THEN 'diverted' ELSE 'landed' END)
            ::ops.flight_state,
        d + interval '9 hours', d + interval '9 hours' + r.id % 7 * interval '6 minutes',
        d + interval '12 hours'
    FROM ops.route r, generate_series(timestamptz '2024-01-01', '2024-12-30', '11 days') d;
INSERT INTO ops.delay
    SELECT f.route_id, f.day, 1, (ARRAY['WX', 'TECH', 'ATC', 'CREW', 'PAX'])[f.route_id % 5 + 1],
        f.route_id % 7 * 6
    FROM ops.flight f WHERE f.route_id % 7 > 1;
INSERT INTO crew.member
    SELECT n, 'Crew ' || n, (ARRAY['FRA', 'MAD', 'LIS'])[n % 3 + 1],
        CASE WHEN n % 2 = 0 THEN date '2024-06-01' + n * 9 END
    FROM generate_series(1, 40) n;
INSERT INTO crew.assignment
    SELECT (f.route_id * 2 + d) % 40 + 1, f.route_id, f.day,
        (ARRAY['captain', 'first_officer', 'purser', 'attendant'])[d]::crew.duty
    FROM ops.flight f, generate_series(1, 4) d;
INSERT INTO res.passenger
    SELECT n, (ARRAY['Costa', 'Hansen', 'Keller', 'Papadakis'])[n % 4 + 1], 'Given ' || n,
        (ARRAY['DE', 'ES', 'NO', 'GR', 'PT'])[n % 5 + 1],
        (ARRAY[NULL, 'blue', 'silver', 'platinum'])[n / 3 % 4 + 1]
    FROM generate_series(1, 200) n;
INSERT INTO res.booking
    SELECT upper(substr(md5(n::text), 1, 6)), timestamptz '2023-11-01 12:00+00' + n * interval '1 day',
        (ARRAY['web', 'app', 'agency', 'phone'])[n % 4 + 1],
        jsonb_build_object('email', 'p' || n || '@mail.example', 'language',
            (ARRAY['de', 'es', 'en'])[n % 3 + 1]), 80 + n, 'EUR'
    FROM generate_series(1, 300) n;
INSERT INTO res.ticket
    SELECT upper(substr(md5(n::text), 1, 6)), k, (n + k) % 200 + 1, f.route_id, f.day,
        (ARRAY['economy', 'economy', 'premium', 'business'])[n % 4 + 1]::res.cabin,
        n % 30 + 1 || 'A', 70 + n % 200, CASE WHEN n % 5 > 0 THEN f.departs_at - interval '9 h' END
    FROM generate_series(1, 300) n, generate_series(1, 2) k
        JOIN LATERAL (SELECT * FROM ops.flight WHERE route_id <= 20) f ON true
    WHERE f.route_id = (n + k) % 20 + 1 AND f.day = date '2024-01-01' + n % 33 * 11;
INSERT INTO res.bag
    SELECT row_number() OVER (ORDER BY t.booking_reference, t.coupon_no), t.booking_reference,
        t.coupon_no, 12 + t.route_id % 12,
        (ARRAY['checked', 'loaded', 'delivered', 'delivered', 'lost', 'damaged'])[t.route_id % 6 + 1]
    FROM res.ticket t;
";
