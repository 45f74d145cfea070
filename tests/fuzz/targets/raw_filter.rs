//! Any condition in SQL: one that is taken cannot swallow what stands around it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ziggurat_rag_service::filter::RawFilter;

fuzz_target!(|sql: &str| {
    if RawFilter::new(sql.to_owned()).is_ok() {
        let query = format!("({sql}\n) AND (tenant = 1)");
        assert!(RawFilter::new(query.clone()).is_ok(), "{query:?}");
        let query = format!("({sql}\n) AND (tenant = 1");
        assert!(RawFilter::new(query.clone()).is_err(), "{query:?}");
    }
});
