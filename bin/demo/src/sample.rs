//! The sample data of the demo: a small shop.
//!
//! A seeded generator makes them, so all users see the same customers and the same sums.

mod handbook;

use sqlx::PgConnection;

/// The tables with their comments.
const SCHEMA: &str = include_str!("sample.sql");

/// Identifies the content: different content makes a new template.
pub(crate) const CONTENT: &str = concat!(
    include_str!("sample.sql"),
    include_str!("sample.rs"),
    include_str!("sample/handbook.md"),
    include_str!("sample/handbook.rs"),
    include_str!("../../../services/llm/src/local/embedding.rs"),
);

const CUSTOMERS: i32 = 200;
const ORDERS: i32 = 1500;

const FIRST_NAMES: [&str; 16] = [
    "Ada", "Amir", "Bente", "Carlos", "Dilara", "Emeka", "Freya", "Goran", "Hana", "Ines", "Jonas",
    "Kemal", "Lucía", "Mei", "Noor", "Oskar",
];

const LAST_NAMES: [&str; 16] = [
    "Abbas",
    "Berg",
    "Costa",
    "Dubois",
    "Eriksen",
    "Fischer",
    "García",
    "Haddad",
    "Ito",
    "Jansen",
    "Kaya",
    "Lindqvist",
    "Moreau",
    "Novak",
    "Okafor",
    "Petrov",
];

const CITIES: [(&str, &str); 8] = [
    ("Lisbon", "PT"),
    ("Utrecht", "NL"),
    ("Gdańsk", "PL"),
    ("Lyon", "FR"),
    ("Graz", "AT"),
    ("Tampere", "FI"),
    ("Cork", "IE"),
    ("Bergen", "NO"),
];

const PRODUCTS: [(&str, &str, i32); 24] = [
    ("Acorn-wood tray", "kitchen", 2450),
    ("Bread knife, serrated", "kitchen", 3990),
    ("Cast-iron pan, 28 cm", "kitchen", 6400),
    ("Enamel kettle", "kitchen", 4275),
    ("Linen tea towel", "kitchen", 1250),
    ("Pepper mill", "kitchen", 3150),
    ("Balcony herb kit", "garden", 2795),
    ("Copper watering can", "garden", 5490),
    ("Hand trowel", "garden", 1890),
    ("Seed box, 12 kinds", "garden", 2299),
    ("Terracotta pot, large", "garden", 1975),
    ("Wool gloves", "garden", 1595),
    ("Desk lamp, brass", "study", 8900),
    ("Dotted notebook", "study", 1450),
    ("Fountain pen", "study", 4950),
    ("Letter tray, oak", "study", 3600),
    ("Slate pin board", "study", 5225),
    ("Wax seal set", "study", 2175),
    ("Bicycle bell", "outdoors", 1325),
    ("Canvas rucksack", "outdoors", 9750),
    ("Enamel mug", "outdoors", 1190),
    ("Folding stool", "outdoors", 4480),
    ("Hammock, cotton", "outdoors", 7200),
    ("Storm lantern", "outdoors", 3875),
];

/// Returns the sections of the handbook, each as the name and the text of a file.
pub(crate) fn handbook_files() -> impl Iterator<Item = (String, String)> {
    handbook::sections().map(|(name, text)| {
        let name = name.to_lowercase().replace(' ', "-");
        (format!("{name}.md"), format!("# {text}"))
    })
}

/// A seeded generator of random numbers (PCG-XSH-RR, 64 to 32 bits).
struct Random(u64);

/// Creates the tables of the shop and fills them.
pub(crate) async fn fill(connection: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::raw_sql(SCHEMA).execute(&mut *connection).await?;
    let mut random = Random(2026);
    customers(connection, &mut random).await?;
    products(connection, &mut random).await?;
    orders(connection, &mut random).await?;
    handbook::fill(connection).await?;
    sqlx::raw_sql("ANALYZE").execute(connection).await?;
    Ok(())
}

async fn customers(connection: &mut PgConnection, random: &mut Random) -> sqlx::Result<()> {
    let (mut names, mut emails, mut cities, mut countries, mut days) =
        (vec![], vec![], vec![], vec![], vec![]);
    for id in 1..=CUSTOMERS {
        let (first, last) = (random.pick(&FIRST_NAMES), random.pick(&LAST_NAMES));
        let (city, country) = random.pick(&CITIES);
        names.push(format!("{first} {last}"));
        emails.push(format!("customer{id}@example.com"));
        cities.push(city);
        countries.push(country);
        days.push(random.below(900));
    }
    sqlx::query(
        "INSERT INTO customers (name, email, city, country, joined_on)
         SELECT name, email, city, country, date '2024-01-01' + day
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[])
              AS c (name, email, city, country, day)",
    )
    .bind(names)
    .bind(emails)
    .bind(cities)
    .bind(countries)
    .bind(days)
    .execute(connection)
    .await?;
    Ok(())
}

async fn products(connection: &mut PgConnection, random: &mut Random) -> sqlx::Result<()> {
    for (name, category, cents) in PRODUCTS {
        sqlx::query(
            "INSERT INTO products (name, category, price, in_stock)
             VALUES ($1, $2::category, $3::numeric / 100, $4)",
        )
        .bind(name)
        .bind(category)
        .bind(cents)
        .bind(random.below(120))
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

async fn orders(connection: &mut PgConnection, random: &mut Random) -> sqlx::Result<()> {
    let (mut buyers, mut minutes, mut states) = (vec![], vec![], vec![]);
    let (mut orders, mut items, mut quantities) = (vec![], vec![], vec![]);
    let kinds = i32::try_from(PRODUCTS.len()).expect("a short list");
    for order in 1..=ORDERS {
        // Some customers order more often than others.
        buyers.push(1 + random.below(CUSTOMERS).min(random.below(CUSTOMERS)));
        minutes.push(random.below(1_300_000));
        states.push(
            [
                "delivered",
                "delivered",
                "delivered",
                "shipped",
                "paid",
                "cancelled",
            ][usize::from(random.byte() % 6)],
        );
        for _ in 0..=random.below(4) {
            orders.push(order);
            items.push(1 + random.below(kinds));
            quantities.push(1 + random.below(3));
        }
    }
    sqlx::query(
        "INSERT INTO orders (customer_id, ordered_at, state)
         SELECT customer, timestamptz '2024-06-01 08:00+00' + minute * interval '1 minute', state::order_state
         FROM unnest($1::int[], $2::int[], $3::text[]) AS o (customer, minute, state)",
    )
    .bind(buyers)
    .bind(minutes)
    .bind(states)
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "INSERT INTO order_items (order_id, product_id, quantity, unit_price)
         SELECT o, p, sum(q), max(price)
         FROM unnest($1::int[], $2::int[], $3::int[]) AS i (o, p, q)
              JOIN products ON products.id = p
         GROUP BY o, p",
    )
    .bind(orders)
    .bind(items)
    .bind(quantities)
    .execute(connection)
    .await?;
    Ok(())
}

// === impl Random ===

impl Random {
    fn next(&mut self) -> u32 {
        let state = self.0;
        self.0 = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let [.., a, b, c, d] = ((state >> 18 ^ state) >> 27).to_be_bytes();
        let rotation = u32::try_from(state >> 59).expect("five bits are left");
        u32::from_be_bytes([a, b, c, d]).rotate_right(rotation)
    }

    fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }

    /// A number from zero up to `end`, exclusive.
    fn below(&mut self, end: i32) -> i32 {
        let end = u32::try_from(end).expect("positive");
        i32::try_from(self.next() % end).expect("below an i32")
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }
}
