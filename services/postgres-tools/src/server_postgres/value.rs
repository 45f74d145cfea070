//! Values as the driver of the old server read them.

use crate::server_postgres::json::Json;

/// The last moment that JavaScript has: year, month, day, hour, minute, second, millisecond.
const LAST_MOMENT: [i64; 7] = [275_760, 9, 13, 0, 0, 0, 0];

/// Form of the values of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    scalar: Scalar,
    is_list: bool,
}

#[derive(Clone, Copy, Debug)]
enum Scalar {
    Bool,
    Bytes,
    Circle,
    Interval,
    Json,
    Moment,
    Number,
    Point,
    Text,
}

// === impl Form ===

impl Form {
    /// Returns the form of a type. The driver knew these types, and no others.
    pub(super) fn of(type_oid: u32) -> Self {
        let (scalar, is_list) = match type_oid {
            16 => (Scalar::Bool, false),
            1000 => (Scalar::Bool, true),
            17 => (Scalar::Bytes, false),
            1001 => (Scalar::Bytes, true),
            // oid, int2, int4, float4, float8. `numeric` is a text, and a number in a list.
            21 | 23 | 26 | 700 | 701 => (Scalar::Number, false),
            1005 | 1007 | 1021 | 1022 | 1028 | 1231 => (Scalar::Number, true),
            114 | 3802 => (Scalar::Json, false),
            199 | 3807 => (Scalar::Json, true),
            600 => (Scalar::Point, false),
            1017 => (Scalar::Point, true),
            718 => (Scalar::Circle, false),
            // date, timestamp, timestamptz.
            1082 | 1114 | 1184 => (Scalar::Moment, false),
            1115 | 1182 | 1185 => (Scalar::Moment, true),
            1186 => (Scalar::Interval, false),
            1187 => (Scalar::Interval, true),
            // cidr, money, regproc, text, bpchar, varchar, int8, macaddr, inet, time, timetz, uuid,
            // numrange.
            651 | 791 | 1008 | 1009 | 1014..=1016 | 1040 | 1041 | 1183 | 1270 | 2951 | 3907 => {
                (Scalar::Text, true)
            }
            _ => (Scalar::Text, false),
        };
        Self { scalar, is_list }
    }

    /// Reads a value as PostgreSQL prints it.
    pub(super) fn read(self, text: &str) -> Json {
        if self.is_list {
            list(text, self.scalar).unwrap_or_else(|| Json::Text(text.to_owned()))
        } else {
            self.scalar.read(text)
        }
    }
}

// === impl Scalar ===

impl Scalar {
    fn read(self, text: &str) -> Json {
        match self {
            Self::Bool => Json::Bool(text == "t"),
            Self::Bytes => Json::Bytes(bytes(text)),
            Self::Circle => numbers(text, &["x", "y", "radius"]),
            Self::Interval => Json::Object(interval(text)),
            Self::Json => Json::document(text),
            Self::Moment => moment(text).map_or(Json::Null, Json::Text),
            Self::Number => number(text),
            Self::Point => numbers(text, &["x", "y"]),
            Self::Text => Json::Text(text.to_owned()),
        }
    }
}

/// Reads an array: `[0:1]={{1,2},{3,NULL}}`.
fn list(text: &str, scalar: Scalar) -> Option<Json> {
    let mut rest = match text.strip_prefix('[') {
        Some(_) => text.split_once('=')?.1,
        None => text,
    };
    let mut open = Vec::<Vec<Json>>::new();
    loop {
        if let Some(inside) = rest.strip_prefix('{') {
            open.push(Vec::new());
            rest = inside;
            if !rest.starts_with('}') {
                continue;
            }
        } else {
            let (item, behind) = element(rest, scalar)?;
            open.last_mut()?.push(item);
            rest = behind;
        }
        while let Some(behind) = rest.strip_prefix('}') {
            let list = Json::List(open.pop()?);
            rest = behind;
            match open.last_mut() {
                Some(outer) => outer.push(list),
                None => return Some(list),
            }
        }
        rest = rest.strip_prefix(',')?;
    }
}

/// Reads the first element of a text, and returns the rest.
fn element(text: &str, scalar: Scalar) -> Option<(Json, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (word, behind) = text.split_at(text.find([',', '}'])?);
        let item = if word == "NULL" {
            Json::Null
        } else {
            scalar.read(word)
        };
        return Some((item, behind));
    };
    let mut item = String::new();
    let mut characters = quoted.char_indices();
    loop {
        match characters.next()? {
            (at, '"') => return Some((scalar.read(&item), &quoted[at + 1..])),
            (_, '\\') => item.push(characters.next()?.1),
            (_, other) => item.push(other),
        }
    }
}

fn number(text: &str) -> Json {
    text.parse().map_or(Json::Null, Json::Number)
}

/// Reads `(1,2)` or `<(1,2),3>`.
fn numbers(text: &str, names: &[&str]) -> Json {
    let numbers = text
        .split(',')
        .map(|text| number(text.trim_matches(['<', '(', ')', '>'])));
    let names = names.iter().map(|name| (*name).to_owned());
    Json::Object(names.zip(numbers).collect())
}

/// Reads `\x0102`.
fn bytes(text: &str) -> Vec<u8> {
    let digits = text.strip_prefix("\\x").unwrap_or_default().as_bytes();
    let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default();
    let pairs = digits
        .chunks_exact(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]));
    pairs.filter_map(|byte| u8::try_from(byte).ok()).collect()
}

/// Reads a date or a timestamp in UTC: `2024-01-31 12:34:56.789+00`, `0044-03-15 BC`. JavaScript has
/// no infinity among them, and ends earlier.
fn moment(text: &str) -> Option<String> {
    let (text, is_before_christ) = match text.strip_suffix(" BC") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (date, clock) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    let clock = clock.strip_suffix("+00").unwrap_or(clock);
    let (clock, fraction) = clock.split_at(clock.find('.').unwrap_or(clock.len()));
    let parts = date.split('-').chain(clock.split(':')).map(str::parse);
    let parts: Vec<i64> = parts.collect::<Result<_, _>>().ok()?;
    let [year, month, day, hour, minute, second] = parts[..] else {
        return None;
    };
    let year = if is_before_christ { 1 - year } else { year };
    // Digits behind the milliseconds are cut.
    let millisecond = format!("{fraction:0<4}");
    let millisecond = millisecond.get(..4)?.trim_start_matches('.').parse().ok()?;
    let moment = [year, month, day, hour, minute, second, millisecond];
    if moment > LAST_MOMENT {
        return None;
    }
    let year = match year {
        0..=9999 => format!("{year:04}"),
        _ => format!("{year:+07}"),
    };
    Some(format!(
        "{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z"
    ))
}

/// Reads `1 year -2 mons 3 days -04:05:06.789`, and returns the parts that are not zero.
fn interval(text: &str) -> Vec<(String, Json)> {
    let mut found = Vec::new();
    let mut add = |name: &str, number: f64| {
        if number != 0.0 {
            found.push((name.to_owned(), Json::Number(number)));
        }
    };
    let mut words = text.split(' ');
    while let Some(word) = words.next() {
        if word.contains(':') {
            let sign = if word.starts_with('-') { -1.0 } else { 1.0 };
            let (clock, fraction) = word.split_at(word.find('.').unwrap_or(word.len()));
            let clock = clock.trim_start_matches(['+', '-']).split(':');
            for (name, text) in ["hours", "minutes", "seconds"].into_iter().zip(clock) {
                add(name, sign * text.parse::<f64>().unwrap_or_default());
            }
            let microseconds = format!("{:0<6}", fraction.trim_start_matches('.'));
            let microseconds = microseconds.parse::<f64>().unwrap_or_default();
            add("milliseconds", sign * microseconds / 1000.0);
            break;
        }
        let name = match words.next() {
            Some("year" | "years") => "years",
            Some("mon" | "mons") => "months",
            Some("day" | "days") => "days",
            _ => break,
        };
        add(name, word.parse().unwrap_or_default());
    }
    found
}
