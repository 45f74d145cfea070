//! Short names of types, as people write them: `int8`, `timestamptz`, `text[]`.
//!
//! The crate `postgres-types` has the OIDs too, with the names of the catalogue (`_text`). It is not
//! used because it brings `postgres-protocol`, a second implementation of the messages and of SCRAM,
//! for a table that never changes.

use std::borrow::Cow;

pub(crate) const BOOL: u32 = 16;
pub(crate) const BYTEA: u32 = 17;
pub(crate) const INT8: u32 = 20;
pub(crate) const INT2: u32 = 21;
pub(crate) const INT4: u32 = 23;
pub(crate) const TEXT: u32 = 25;
pub(crate) const FLOAT4: u32 = 700;
pub(crate) const FLOAT8: u32 = 701;
pub(crate) const BYTEA_ARRAY: u32 = 1001;
pub(crate) const TEXT_ARRAY: u32 = 1009;
pub(crate) const TIMESTAMP: u32 = 1114;
pub(crate) const TIMESTAMPTZ: u32 = 1184;

/// The built-in types of values, by OID; these are the same in every installation.
const BUILT_IN: &[(u32, &str)] = &[
    (16, "bool"),
    (17, "bytea"),
    (18, "char"),
    (19, "name"),
    (20, "int8"),
    (21, "int2"),
    (22, "int2[]"),
    (23, "int4"),
    (24, "regproc"),
    (25, "text"),
    (26, "oid"),
    (27, "tid"),
    (28, "xid"),
    (29, "cid"),
    (30, "oid[]"),
    (114, "json"),
    (142, "xml"),
    (143, "xml[]"),
    (199, "json[]"),
    (271, "xid8[]"),
    (600, "point"),
    (601, "lseg"),
    (602, "path"),
    (603, "box"),
    (604, "polygon"),
    (628, "line"),
    (629, "line[]"),
    (650, "cidr"),
    (651, "cidr[]"),
    (700, "float4"),
    (701, "float8"),
    (705, "unknown"),
    (718, "circle"),
    (719, "circle[]"),
    (774, "macaddr8"),
    (775, "macaddr8[]"),
    (790, "money"),
    (791, "money[]"),
    (829, "macaddr"),
    (869, "inet"),
    (1000, "bool[]"),
    (1001, "bytea[]"),
    (1002, "char[]"),
    (1003, "name[]"),
    (1005, "int2[]"),
    (1006, "int2vector[]"),
    (1007, "int4[]"),
    (1008, "regproc[]"),
    (1009, "text[]"),
    (1010, "tid[]"),
    (1011, "xid[]"),
    (1012, "cid[]"),
    (1013, "oidvector[]"),
    (1014, "bpchar[]"),
    (1015, "varchar[]"),
    (1016, "int8[]"),
    (1017, "point[]"),
    (1018, "lseg[]"),
    (1019, "path[]"),
    (1020, "box[]"),
    (1021, "float4[]"),
    (1022, "float8[]"),
    (1027, "polygon[]"),
    (1028, "oid[]"),
    (1033, "aclitem"),
    (1034, "aclitem[]"),
    (1040, "macaddr[]"),
    (1041, "inet[]"),
    (1042, "bpchar"),
    (1043, "varchar"),
    (1082, "date"),
    (1083, "time"),
    (1114, "timestamp"),
    (1115, "timestamp[]"),
    (1182, "date[]"),
    (1183, "time[]"),
    (1184, "timestamptz"),
    (1185, "timestamptz[]"),
    (1186, "interval"),
    (1187, "interval[]"),
    (1231, "numeric[]"),
    (1266, "timetz"),
    (1270, "timetz[]"),
    (1560, "bit"),
    (1561, "bit[]"),
    (1562, "varbit"),
    (1563, "varbit[]"),
    (1700, "numeric"),
    (1790, "refcursor"),
    (2201, "refcursor[]"),
    (2202, "regprocedure"),
    (2203, "regoper"),
    (2204, "regoperator"),
    (2205, "regclass"),
    (2206, "regtype"),
    (2207, "regprocedure[]"),
    (2208, "regoper[]"),
    (2209, "regoperator[]"),
    (2210, "regclass[]"),
    (2211, "regtype[]"),
    (2249, "record"),
    (2278, "void"),
    (2287, "_record"),
    (2949, "txid_snapshot[]"),
    (2950, "uuid"),
    (2951, "uuid[]"),
    (2970, "txid_snapshot"),
    (3220, "pg_lsn"),
    (3221, "pg_lsn[]"),
    (3614, "tsvector"),
    (3615, "tsquery"),
    (3642, "gtsvector"),
    (3643, "tsvector[]"),
    (3644, "gtsvector[]"),
    (3645, "tsquery[]"),
    (3734, "regconfig"),
    (3735, "regconfig[]"),
    (3769, "regdictionary"),
    (3770, "regdictionary[]"),
    (3802, "jsonb"),
    (3807, "jsonb[]"),
    (3904, "int4range"),
    (3905, "int4range[]"),
    (3906, "numrange"),
    (3907, "numrange[]"),
    (3908, "tsrange"),
    (3909, "tsrange[]"),
    (3910, "tstzrange"),
    (3911, "tstzrange[]"),
    (3912, "daterange"),
    (3913, "daterange[]"),
    (3926, "int8range"),
    (3927, "int8range[]"),
    (4072, "jsonpath"),
    (4073, "jsonpath[]"),
    (4089, "regnamespace"),
    (4090, "regnamespace[]"),
    (4096, "regrole"),
    (4097, "regrole[]"),
    (4191, "regcollation"),
    (4192, "regcollation[]"),
    (4451, "int4multirange"),
    (4532, "nummultirange"),
    (4533, "tsmultirange"),
    (4534, "tstzmultirange"),
    (4535, "datemultirange"),
    (4536, "int8multirange"),
    (5038, "pg_snapshot"),
    (5039, "pg_snapshot[]"),
    (5069, "xid8"),
    (6150, "int4multirange[]"),
    (6151, "nummultirange[]"),
    (6152, "tsmultirange[]"),
    (6153, "tstzmultirange[]"),
    (6155, "datemultirange[]"),
    (6157, "int8multirange[]"),
];

/// Returns the name of a built-in type.
#[must_use]
pub(crate) fn built_in(oid: u32) -> Option<&'static str> {
    let at = BUILT_IN.binary_search_by_key(&oid, |(oid, _)| *oid).ok()?;
    Some(BUILT_IN[at].1)
}

/// The beginnings of type names of the standard, each with the short one; behind them may stand
/// modifiers and the brackets of an array.
const LONG: &[(&str, &str)] = &[
    ("bigint", "int8"),
    ("bit varying", "varbit"),
    ("boolean", "bool"),
    ("character varying", "varchar"),
    ("character", "bpchar"),
    ("double precision", "float8"),
    ("integer", "int4"),
    ("real", "float4"),
    ("smallint", "int2"),
];

/// Writes a type as `format_type` does, such as `timestamp(3) with time zone`, in its short form:
/// `timestamptz(3)`.
#[must_use]
pub fn short(long: &str) -> Cow<'_, str> {
    for (name, short) in LONG {
        if let Some(rest) = long.strip_prefix(name)
            && !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_' || next == ' ')
        {
            return format!("{short}{rest}").into();
        }
    }
    for name in ["timestamp", "time"] {
        let Some(rest) = long.strip_prefix(name) else {
            continue;
        };
        for (zone, end) in [(" without time zone", ""), (" with time zone", "tz")] {
            if let Some((modifier, brackets)) = rest.split_once(zone) {
                return format!("{name}{end}{modifier}{brackets}").into();
            }
        }
    }
    Cow::Borrowed(long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_the_standard_has_a_short_form() {
        for (long, expected) in [
            ("bigint", "int8"),
            ("integer[]", "int4[]"),
            ("character varying(50)", "varchar(50)"),
            ("character varying(50)[]", "varchar(50)[]"),
            ("character(3)", "bpchar(3)"),
            ("\"char\"", "\"char\""),
            ("timestamp(3) with time zone", "timestamptz(3)"),
            ("timestamp without time zone[]", "timestamp[]"),
            ("time with time zone", "timetz"),
            ("numeric(10,2)", "numeric(10,2)"),
            ("realm", "realm"),
            ("shop.integer_range", "shop.integer_range"),
            ("integer_range", "integer_range"),
            ("vector(384)", "vector(384)"),
            ("interval day to second", "interval day to second"),
        ] {
            assert_eq!(short(long), expected, "{long}");
        }
    }

    #[test]
    fn the_list_is_sorted_and_a_type_of_a_user_is_not_in_it() {
        assert!(BUILT_IN.is_sorted());
        for (oid, expected) in [
            (20, Some("int8")),
            (1184, Some("timestamptz")),
            (1009, Some("text[]")),
            (16_384, None),
        ] {
            assert_eq!(built_in(oid), expected);
        }
    }
}
