//! Encodes messages to PostgreSQL.
//!
//! `postgres-protocol` refuses a text with a NUL byte, so such messages are written here: the
//! author of the text should see PostgreSQL's own error.

use bytes::{BufMut as _, BytesMut};

use crate::type_name::{BYTEA, BYTEA_ARRAY, FLOAT8, INT8, TEXT, TEXT_ARRAY};

/// Value for a placeholder. It is sent separately and is never part of the SQL text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of the type `text`.
    Text(String),
    /// Of the type `text[]`.
    Texts(Vec<String>),
    /// Of the type `bytea`.
    Bytes(Vec<u8>),
    /// Of the type `bytea[]`.
    ManyBytes(Vec<Vec<u8>>),
    /// Of the type `int8`.
    Integer(i64),
    /// Of the type `float8`.
    Float(f64),
    /// NULL, of the type with this OID.
    Null(u32),
}

pub(super) fn query(sql: &str, out: &mut BytesMut) {
    message(b'Q', out, |out| put_text(sql, out));
}

/// Writes a `Parse` message for the unnamed statement, which the next one replaces.
pub(super) fn parse(sql: &str, values: &[Value], out: &mut BytesMut) {
    message(b'P', out, |out| {
        out.put_u8(0);
        put_text(sql, out);
        put_count(values.len(), out);
        for value in values {
            out.put_u32(value.type_oid());
        }
    });
}

pub(super) fn describe(out: &mut BytesMut) {
    message(b'D', out, |out| out.put_slice(b"S\0"));
}

pub(super) fn describe_portal(out: &mut BytesMut) {
    message(b'D', out, |out| out.put_slice(b"P\0"));
}

/// Writes a `Bind` message with values in binary form and results as text.
pub(super) fn bind(values: &[Value], out: &mut BytesMut) {
    message(b'B', out, |out| {
        // Neither the portal nor the statement has a name.
        out.put_slice(b"\0\0");
        out.put_i16(1);
        out.put_i16(1);
        put_count(values.len(), out);
        for value in values {
            if let Value::Null(_) = value {
                out.put_i32(-1);
            } else {
                sized(out, |out| value.put(out));
            }
        }
        out.put_i16(0);
    });
}

/// Writes an `Execute` message for the first rows of the unnamed portal, or with 0 for all of them.
pub(super) fn execute(rows: i32, out: &mut BytesMut) {
    message(b'E', out, |out| {
        out.put_u8(0);
        out.put_i32(rows);
    });
}

pub(super) fn sync(out: &mut BytesMut) {
    message(b'S', out, |_| {});
}

// === impl Value ===

impl Value {
    /// Returns the OID of its type.
    fn type_oid(&self) -> u32 {
        match self {
            Self::Text(_) => TEXT,
            Self::Texts(_) => TEXT_ARRAY,
            Self::Bytes(_) => BYTEA,
            Self::ManyBytes(_) => BYTEA_ARRAY,
            Self::Integer(_) => INT8,
            Self::Float(_) => FLOAT8,
            Self::Null(type_oid) => *type_oid,
        }
    }

    fn put(&self, out: &mut BytesMut) {
        match self {
            Self::Text(text) => out.put_slice(text.as_bytes()),
            Self::Texts(texts) => put_array(TEXT, texts, out),
            Self::Bytes(bytes) => out.put_slice(bytes),
            Self::ManyBytes(many) => put_array(BYTEA, many, out),
            Self::Integer(number) => out.put_i64(*number),
            Self::Float(number) => out.put_f64(*number),
            Self::Null(_) => {}
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<Option<&[u8]>> for Value {
    fn from(bytes: Option<&[u8]>) -> Self {
        bytes.map_or(Self::Null(BYTEA), Self::from)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        text.map_or(Self::Null(TEXT), Self::from)
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Null(TEXT), Self::from)
    }
}

impl From<&Option<String>> for Value {
    fn from(text: &Option<String>) -> Self {
        text.as_deref().into()
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Self::Null(INT8), Self::from)
    }
}

/// Writes a one-dimensional array without NULLs in binary form.
fn put_array(element: u32, values: &[impl AsRef<[u8]>], out: &mut BytesMut) {
    out.put_i32(i32::from(!values.is_empty()));
    out.put_i32(0);
    out.put_u32(element);
    if values.is_empty() {
        return;
    }
    out.put_i32(values.len().try_into().unwrap_or(i32::MAX));
    // The lower bound of the subscripts.
    out.put_i32(1);
    for value in values {
        sized(out, |out| out.put_slice(value.as_ref()));
    }
}

fn message(tag: u8, out: &mut BytesMut, body: impl FnOnce(&mut BytesMut)) {
    out.put_u8(tag);
    let start = out.len();
    out.put_i32(0);
    body(out);
    set_length(out, start, out.len() - start);
}

/// Writes `body` with its length in front.
fn sized(out: &mut BytesMut, body: impl FnOnce(&mut BytesMut)) {
    let start = out.len();
    out.put_i32(0);
    body(out);
    set_length(out, start, out.len() - start - 4);
}

fn set_length(out: &mut BytesMut, at: usize, length: usize) {
    let length = i32::try_from(length).unwrap_or(i32::MAX).to_be_bytes();
    out[at..at + 4].copy_from_slice(&length);
}

fn put_text(text: &str, out: &mut BytesMut) {
    out.reserve(text.len() + 1);
    out.put_slice(text.as_bytes());
    out.put_u8(0);
}

fn put_count(count: usize, out: &mut BytesMut) {
    out.put_u16(count.try_into().unwrap_or(u16::MAX));
}
