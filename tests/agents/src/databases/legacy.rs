//! A grown database of a trading company: short names, few comments, few foreign keys, and copies
//! of tables that are not used any more.

use super::Database;

/// Returns the database.
pub(super) fn database() -> Database {
    Database {
        scripts: vec![MASTER.to_owned(), MOVING.to_owned(), ROWS.to_owned()],
        glossary: Some(include_str!("../../glossary/legacy.yaml")),
        ..Database::new("legacy", include_str!("../../questions/legacy.yaml"))
    }
}

const MASTER: &str = r#"
CREATE SCHEMA arch;
CREATE TABLE cust_mst (
    cust_no int PRIMARY KEY,
    cust_nm varchar(40) NOT NULL,
    cust_typ char(2) CHECK (cust_typ IN ('RT', 'WS', 'EX')),
    stat_cd char(1) NOT NULL CHECK (stat_cd IN ('A', 'I', 'B')),
    crdt_lmt numeric(11, 2),
    slsp_id int,
    cntry_cd char(2),
    crt_dt date,
    fax_no varchar(20)
);
COMMENT ON TABLE cust_mst IS 'Customer master';
COMMENT ON COLUMN cust_mst.fax_no IS 'obsolete';
CREATE TABLE cust_addr (
    cust_no int,
    addr_seq int,
    addr_typ char(1) CHECK (addr_typ IN ('B', 'S')),
    ln1 varchar(40),
    zip varchar(10),
    cty varchar(30),
    PRIMARY KEY (cust_no, addr_seq)
);
COMMENT ON COLUMN cust_addr.addr_typ IS 'B=bill-to S=ship-to';
CREATE TABLE "CUSTMST" ("CUSTNO" int, "CUSTNM" varchar(40), "STAT" char(1));
COMMENT ON TABLE "CUSTMST" IS 'customer master, copy of the mainframe before 2011, do not use';
CREATE TABLE itm_mst (
    itm_no varchar(15) PRIMARY KEY,
    itm_desc varchar(60) NOT NULL,
    itm_cls char(3),
    uom char(2),
    lst_prc numeric(9, 2),
    std_cst numeric(9, 2),
    stat_cd char(1) CHECK (stat_cd IN ('A', 'D'))
);
COMMENT ON TABLE itm_mst IS '';
COMMENT ON COLUMN itm_mst.uom IS 'unit of measure';
COMMENT ON COLUMN itm_mst.stat_cd IS 'A active, D discontinued';
CREATE TABLE itm_cls_cd (itm_cls char(3) PRIMARY KEY, cls_desc varchar(30));
CREATE TABLE vnd_mst (
    vnd_no int PRIMARY KEY,
    vnd_nm varchar(40),
    pmt_trm int,
    stat_cd char(1) CHECK (stat_cd IN ('A', 'H'))
);
COMMENT ON TABLE vnd_mst IS 'Vendors';
COMMENT ON COLUMN vnd_mst.pmt_trm IS 'days net';
CREATE TABLE itm_vnd (itm_no varchar(15), vnd_no int, vnd_itm_no varchar(20), ld_tm int,
    PRIMARY KEY (itm_no, vnd_no));
CREATE TABLE slsp_tbl (slsp_id int PRIMARY KEY, slsp_nm varchar(30), rgn_cd char(2), comm_pct numeric(4, 2));
COMMENT ON TABLE slsp_tbl IS 'sales people';
CREATE TABLE rgn_tbl (rgn_cd char(2) PRIMARY KEY, rgn_nm varchar(20));
CREATE TABLE whs_tbl (whs_cd char(3) PRIMARY KEY, whs_nm varchar(30), whs_cty varchar(30));
COMMENT ON TABLE whs_tbl IS 'Warehouses';
CREATE TABLE cntry_tbl (cntry_cd char(2) PRIMARY KEY, cntry_nm varchar(30), eu_flg char(1));
CREATE TABLE emp_mst (emp_no int PRIMARY KEY, emp_nm varchar(40), dpt_cd char(3), hire_dt date,
    term_dt date);
COMMENT ON TABLE emp_mst IS 'Employees';
COMMENT ON COLUMN emp_mst.term_dt IS 'see HR';
CREATE TABLE sys_parm (parm_cd varchar(20) PRIMARY KEY, parm_val text);
"#;

const MOVING: &str = r"
CREATE TABLE ord_hdr (
    ord_no int PRIMARY KEY,
    cust_no int NOT NULL,
    ord_dt date NOT NULL,
    ord_stat char(1) NOT NULL CHECK (ord_stat IN ('N', 'P', 'S', 'C', 'X')),
    whs_cd char(3),
    slsp_id int,
    ent_by int,
    frt_amt numeric(9, 2)
);
COMMENT ON TABLE ord_hdr IS 'Sales orders';
CREATE TABLE ord_dtl (
    ord_no int,
    ln_no int,
    itm_no varchar(15) NOT NULL,
    qty_ord numeric(9, 2),
    qty_shp numeric(9, 2),
    unt_prc numeric(9, 2),
    dsc_pct numeric(4, 1),
    PRIMARY KEY (ord_no, ln_no),
    FOREIGN KEY (ord_no) REFERENCES ord_hdr
);
COMMENT ON COLUMN ord_dtl.qty_shp IS 'shipped so far';
CREATE TABLE tmp_ord_bkp_2019 AS SELECT * FROM ord_hdr;
CREATE TABLE inv_bal (whs_cd char(3), itm_no varchar(15), qty_oh numeric(9, 2), qty_all numeric(9, 2),
    min_qty numeric(9, 2), lst_cnt_dt date, PRIMARY KEY (whs_cd, itm_no));
COMMENT ON TABLE inv_bal IS 'invoice balances';
COMMENT ON COLUMN inv_bal.qty_oh IS 'on hand';
CREATE TABLE inv_trx (trx_id int PRIMARY KEY, whs_cd char(3), itm_no varchar(15), trx_typ char(2)
    CHECK (trx_typ IN ('RC', 'IS', 'AJ', 'TR')), qty numeric(9, 2), trx_ts timestamp);
COMMENT ON COLUMN inv_trx.trx_typ IS 'RC receipt IS issue AJ adjustment TR transfer';
CREATE TABLE ar_inv (
    inv_no int PRIMARY KEY,
    cust_no int NOT NULL REFERENCES cust_mst,
    ord_no int,
    inv_dt date,
    due_dt date,
    inv_amt numeric(11, 2),
    bal_amt numeric(11, 2)
);
COMMENT ON TABLE ar_inv IS 'Accounts receivable: invoices to customers';
COMMENT ON COLUMN ar_inv.bal_amt IS 'still to be paid';
CREATE TABLE ar_pmt (pmt_no int PRIMARY KEY, inv_no int, pmt_dt date, pmt_amt numeric(11, 2),
    pmt_mth char(2) CHECK (pmt_mth IN ('CK', 'WT', 'CC')));
CREATE TABLE po_hdr (po_no int PRIMARY KEY, vnd_no int, po_dt date,
    po_stat char(1) CHECK (po_stat IN ('O', 'R', 'C')), byr_emp int);
COMMENT ON TABLE po_hdr IS 'Purchase orders';
CREATE TABLE po_dtl (po_no int REFERENCES po_hdr, ln_no int, itm_no varchar(15), qty numeric(9, 2),
    unt_cst numeric(9, 2), rcv_dt date, PRIMARY KEY (po_no, ln_no));
CREATE TABLE gl_acct (acct_no varchar(8) PRIMARY KEY, acct_nm varchar(40), acct_typ char(1)
    CHECK (acct_typ IN ('A', 'L', 'R', 'E')));
COMMENT ON TABLE gl_acct IS 'General ledger accounts';
CREATE TABLE gl_jrnl (jrnl_id int PRIMARY KEY, acct_no varchar(8), pst_dt date, dr_amt numeric(11, 2),
    cr_amt numeric(11, 2), src_cd char(2));
CREATE TABLE shp_log (shp_id int PRIMARY KEY, ord_no int, shp_dt date, carr_cd char(3), trk_no varchar(30),
    wgt numeric(8, 2));
COMMENT ON TABLE shp_log IS 'Shipments';
CREATE TABLE ret_auth (ret_no int PRIMARY KEY, ord_no int, ln_no int, ret_dt date,
    rsn_cd char(2) CHECK (rsn_cd IN ('DM', 'WR', 'QL')), crd_amt numeric(9, 2));
CREATE TABLE prc_hist (itm_no varchar(15), eff_dt date, old_prc numeric(9, 2), new_prc numeric(9, 2),
    PRIMARY KEY (itm_no, eff_dt));
CREATE TABLE call_log (call_id int PRIMARY KEY, cust_no int, emp_no int, call_ts timestamp, memo text);
CREATE TABLE arch.ord_hdr_2015 AS SELECT * FROM ord_hdr;
CREATE INDEX ord_hdr_x1 ON ord_hdr (cust_no);
CREATE VIEW v_bklog AS
    SELECT h.ord_no, h.cust_no, d.itm_no, d.qty_ord - d.qty_shp AS qty_open
    FROM ord_hdr h JOIN ord_dtl d ON d.ord_no = h.ord_no
    WHERE h.ord_stat IN ('N', 'P') AND d.qty_ord > d.qty_shp;
";

const ROWS: &str = r#"
INSERT INTO cust_mst SELECT n, 'Customer ' || n, (ARRAY['RT', 'WS', 'EX'])[n % 3 + 1],
    (ARRAY['A', 'A', 'I', 'B'])[n % 4 + 1], n * 1000, n % 6 + 1, (ARRAY['US', 'DE', 'MX'])[n % 3 + 1],
    date '2010-01-01' + n * 40, NULL FROM generate_series(1, 80) n;
INSERT INTO cust_addr SELECT n, s, (ARRAY['B', 'S'])[s], 'Line ' || n, 'Z' || n,
    (ARRAY['Austin', 'Bonn', 'Puebla'])[n % 3 + 1] FROM generate_series(1, 80) n, generate_series(1, 2) s;
INSERT INTO "CUSTMST" SELECT n, 'OLD ' || n, 'A' FROM generate_series(1, 20) n;
INSERT INTO itm_cls_cd VALUES ('PMP', 'Pumps'), ('VLV', 'Valves'), ('SEA', 'Seals');
INSERT INTO itm_mst SELECT 'I' || n, 'Item ' || n, (ARRAY['PMP', 'VLV', 'SEA'])[n % 3 + 1], 'EA', n * 4,
    n * 3, CASE WHEN n % 7 = 0 THEN 'D' ELSE 'A' END FROM generate_series(1, 60) n;
INSERT INTO vnd_mst SELECT n, 'Vendor ' || n, n % 3 * 30, CASE WHEN n % 5 = 0 THEN 'H' ELSE 'A' END
    FROM generate_series(1, 15) n;
INSERT INTO itm_vnd SELECT 'I' || n, n % 15 + 1, 'V' || n, 5 + n % 30 FROM generate_series(1, 60) n;
INSERT INTO rgn_tbl VALUES ('NE', 'North East'), ('SW', 'South West');
INSERT INTO slsp_tbl SELECT n, 'Sales ' || n, (ARRAY['NE', 'SW'])[n % 2 + 1], 2 + n * 0.25
    FROM generate_series(1, 6) n;
INSERT INTO whs_tbl VALUES ('ATX', 'Main', 'Austin'), ('BON', 'Europe', 'Bonn');
INSERT INTO cntry_tbl VALUES ('US', 'United States', 'N'), ('DE', 'Germany', 'Y'), ('MX', 'Mexico', 'N');
INSERT INTO emp_mst SELECT n, 'Emp ' || n, (ARRAY['SLS', 'WHS', 'ACC'])[n % 3 + 1],
    date '2005-02-01' + n * 150, CASE WHEN n % 7 = 0 THEN date '2023-05-31' END
    FROM generate_series(1, 30) n;
INSERT INTO sys_parm VALUES ('FISC_YR_START', '07'), ('VERSION', '4.2');
INSERT INTO ord_hdr SELECT n, n % 80 + 1, date '2024-01-01' + n, (ARRAY['N', 'P', 'S', 'C', 'X'])[n % 5 + 1],
    (ARRAY['ATX', 'BON'])[n % 2 + 1], n % 6 + 1, n % 30 + 1, n % 9 * 4 FROM generate_series(1, 300) n;
INSERT INTO ord_dtl SELECT o, l, 'I' || (o * 3 + l) % 60 + 1, (o + l) % 9 + 2, (o + l) % 9 + l % 3, 5 + l,
    o % 4 * 5 FROM generate_series(1, 300) o, generate_series(1, 3) l;
INSERT INTO inv_bal SELECT w, 'I' || n, n % 25, n % 5, 10, date '2024-02-01' + n
    FROM unnest(ARRAY['ATX', 'BON']) w, generate_series(1, 60) n;
INSERT INTO inv_trx SELECT n, (ARRAY['ATX', 'BON'])[n % 2 + 1], 'I' || n % 60 + 1,
    (ARRAY['RC', 'IS', 'AJ', 'TR'])[n % 4 + 1], n % 11 + 1, timestamp '2024-03-01 08:00' + n * interval '7 h'
    FROM generate_series(1, 200) n;
INSERT INTO ar_inv SELECT n, n % 80 + 1, n, date '2024-01-03' + n, date '2024-02-02' + n, 100 + n,
    CASE WHEN n % 4 = 0 THEN 100 + n ELSE 0 END FROM generate_series(1, 260) n;
INSERT INTO ar_pmt SELECT n, n, date '2024-01-28' + n, 100 + n, (ARRAY['CK', 'WT', 'CC'])[n % 3 + 1]
    FROM generate_series(1, 260) n WHERE n % 4 > 0;
INSERT INTO po_hdr SELECT n, n % 15 + 1, date '2024-01-04' + n * 3, (ARRAY['O', 'R', 'C'])[n % 3 + 1],
    n % 30 + 1 FROM generate_series(1, 100) n;
INSERT INTO po_dtl SELECT p, l, 'I' || (p + l) % 60 + 1, 10 + l, 2 + l,
    CASE WHEN p % 3 > 0 THEN date '2024-01-20' + p * 3 END FROM generate_series(1, 100) p, generate_series(1, 2) l;
INSERT INTO gl_acct VALUES ('1000', 'Cash', 'A'), ('2000', 'Payables', 'L'), ('4000', 'Sales', 'R'),
    ('4100', 'Services', 'R'), ('6000', 'Rent', 'E'), ('6100', 'Wages', 'E');
INSERT INTO gl_jrnl SELECT n, (ARRAY['1000', '2000', '4000', '4100', '6000', '6100'])[n % 6 + 1],
    date '2024-01-01' + n, n * 2, n, (ARRAY['AR', 'AP'])[n % 2 + 1] FROM generate_series(1, 240) n;
INSERT INTO shp_log SELECT n, n, date '2024-01-05' + n, (ARRAY['UPS', 'FDX'])[n % 2 + 1], 'T' || n, n * 1.5
    FROM generate_series(1, 200) n;
INSERT INTO ret_auth SELECT n, n * 5, n % 3 + 1, date '2024-02-01' + n * 2,
    (ARRAY['DM', 'WR', 'QL'])[n % 3 + 1], 10 + n FROM generate_series(1, 50) n;
INSERT INTO prc_hist SELECT 'I' || n % 60 + 1, date '2023-01-01' + n * 3, n, n + 1 FROM generate_series(1, 120) n;
INSERT INTO call_log SELECT n, n % 80 + 1, n % 30 + 1, timestamp '2024-01-02 09:00' + n * interval '1 day',
    'call ' || n FROM generate_series(1, 90) n;
"#;
