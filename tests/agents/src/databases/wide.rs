//! A manufacturer: 1,000 columns in 60 tables, most of them the same in all.

use super::{Database, generated::Table};

/// The number of columns in all tables.
const COLUMNS: usize = 1_000;

/// The number of rows of a table.
const ROWS: usize = 40;

const SCHEMAS: &str = "
CREATE SCHEMA hr;
CREATE SCHEMA fin;
CREATE SCHEMA mfg;
CREATE SCHEMA log;
CREATE SCHEMA crm;
CREATE SCHEMA qm;
COMMENT ON SCHEMA hr IS 'Human resources';
COMMENT ON SCHEMA fin IS 'Finance and accounting';
COMMENT ON SCHEMA mfg IS 'Manufacturing';
COMMENT ON SCHEMA log IS 'Logistics';
COMMENT ON SCHEMA crm IS 'Customers and sales';
COMMENT ON SCHEMA qm IS 'Quality management';
";

/// The columns that every table has.
const STANDARD: [&str; 6] = [
    "created_at timestamptz",
    "created_by",
    "changed_at timestamptz",
    "changed_by",
    "version int",
    "is_active boolean",
];

/// The tables that get all columns that are left.
const WIDEST: [&str; 2] = ["fin.journal_entry", "mfg.machine"];

const TABLES: &str = "\
hr.department|Departments, with a head|name, cost_center>fin.cost_center, floor int
hr.employee|Staff of the company|personnel_number, first_name, last_name, hired_on date, left_on date, employment[permanent|temporary|apprentice|contractor], department>hr.department, plant>mfg.plant
hr.contract|Work contracts|employee>hr.employee, weekly_hours numeric, monthly_salary numeric, signed_on date, pay_grade(E1|E2|E3|E4)
hr.absence|Days on which staff are away|employee>hr.employee, reason(vacation|sickness|parental_leave|unpaid), first_day date, last_day date, approved_on date
hr.training|Courses offered to staff|title, hours int, is_mandatory boolean, provider
hr.training_attendance|Staff at courses|training>hr.training, employee>hr.employee, attended_on date, result(passed|failed|no_show)
hr.applicant|People who want to work here|full_name, email, applied_on date, stage(received|interview|offer|hired|rejected), job_opening>hr.job_opening
hr.job_opening|Vacancies|title, department>hr.department, published_on date, closed_on date, salary_from numeric, salary_to numeric
hr.shift|Work of one person on one day|employee>hr.employee, plant>mfg.plant, shift_day date, kind(early|late|night), overtime_minutes int
hr.travel_expense|Costs of business trips|employee>hr.employee, destination, departed_on date, amount numeric, state(draft|submitted|refunded|refused)
fin.cost_center|Where costs are booked|code, name, responsible
fin.account|Chart of accounts|number, title, class(asset|liability|income|expense)
fin.journal_entry|Bookings|account>fin.account, cost_center>fin.cost_center, posted_on date, debit numeric, credit numeric, document_number, currency(EUR|USD|CHF)
fin.customer_invoice|Bills to customers|customer>crm.customer, number, invoiced_on date, due_on date, net_amount numeric, tax_amount numeric, state(open|partly_paid|paid|written_off)
fin.customer_payment|Money from customers|customer_invoice>fin.customer_invoice, received_on date, amount numeric, method(transfer|debit|cheque)
fin.vendor_invoice|Bills from vendors|vendor>log.vendor, number, received_on date, due_on date, net_amount numeric, is_blocked boolean
fin.vendor_payment|Money to vendors|vendor_invoice>fin.vendor_invoice, paid_on date, amount numeric, bank_account>fin.bank_account
fin.bank_account|Own accounts at banks|iban, bank_name, opened_on date, balance numeric
fin.budget|Planned costs of a year|cost_center>fin.cost_center, fiscal_year int, planned numeric, approved_on date
fin.fixed_asset|Things that lose value over years|name, acquired_on date, acquisition_cost numeric, useful_years int, cost_center>fin.cost_center, method(linear|declining)
fin.exchange_rate|Rates against the euro|currency(USD|CHF|GBP|JPY), quoted_on date, rate numeric
fin.dunning|Reminders of unpaid bills|customer_invoice>fin.customer_invoice, level int, sent_on date, fee numeric
mfg.plant|Factories|name, city, country, opened_on date
mfg.production_line|Lines of a factory|plant>mfg.plant, name, capacity_per_hour int
mfg.machine|Machines on the lines|production_line>mfg.production_line, name, serial_number, maker, installed_on date, power_kw numeric, condition[good|worn|defective]
mfg.machine_downtime|Times when a machine stood still|machine>mfg.machine, began_at timestamptz, ended_at timestamptz, cause(breakdown|setup|no_material|maintenance)
mfg.maintenance_order|Repairs and inspections|machine>mfg.machine, technician>hr.employee, planned_on date, finished_on date, priority(low|medium|high), cost numeric
mfg.material|Raw materials, parts and finished goods|number, name, kind[raw|part|finished], unit(kg|piece|litre), standard_cost numeric, lead_time_days int
mfg.bill_of_material|Parts of a product|product>mfg.material, component>mfg.material, quantity numeric, scrap_percent numeric
mfg.routing_step|Work steps of a product|material>mfg.material, machine>mfg.machine, step int, setup_minutes numeric, run_minutes numeric
mfg.production_order|Orders to make a quantity|material>mfg.material, production_line>mfg.production_line, quantity numeric, due_on date, state[planned|released|running|finished|cancelled]
mfg.production_report|Results of a shift on an order|production_order>mfg.production_order, reported_at timestamptz, good_quantity numeric, scrap_quantity numeric, operator>hr.employee
mfg.tool|Tools and moulds|name, machine>mfg.machine, shots int, shots_until_service int
mfg.energy_reading|Meters of the factories|plant>mfg.plant, read_at timestamptz, kilowatt_hours numeric, medium(electricity|gas|steam)
mfg.work_center_calendar|Days on which a line works|production_line>mfg.production_line, calendar_day date, shifts int
mfg.recipe|Mixtures|material>mfg.material, revision int, released_on date, batch_size numeric
log.vendor|Suppliers|name, city, country, rating(A|B|C), payment_days int
log.purchase_order|Orders to suppliers|vendor>log.vendor, ordered_on date, buyer>hr.employee, state[open|confirmed|delivered|closed], total numeric
log.purchase_order_line|Lines of orders to suppliers|purchase_order>log.purchase_order, material>mfg.material, quantity numeric, price numeric, promised_on date
log.goods_receipt|Deliveries from suppliers|purchase_order_line>log.purchase_order_line, received_at timestamptz, quantity numeric, is_complete boolean
log.warehouse|Stores|name, plant>mfg.plant, is_cooled boolean
log.stock|Quantity of a material in a store|warehouse>log.warehouse, material>mfg.material, quantity numeric, batch, expires_on date
log.stock_movement|Changes of the stock|stock>log.stock, moved_at timestamptz, quantity numeric, reason(receipt|issue|transfer|count)
log.carrier|Forwarders|name, mode(road|rail|sea|air), contact
log.shipment|Deliveries to customers|sales_order>crm.sales_order, carrier>log.carrier, left_at timestamptz, arrived_at timestamptz, freight_cost numeric
log.customs_document|Papers for exports|shipment>log.shipment, tariff_number, declared_value numeric, cleared_on date
crm.customer|Companies that buy from us|name, city, country, segment(key_account|standard|small), credit_limit numeric, account_manager>hr.employee
crm.contact|People at customers|customer>crm.customer, full_name, email, phone, is_decision_maker boolean
crm.opportunity|Chances to sell|customer>crm.customer, title, stage(lead|qualified|proposal|won|lost), expected_value numeric, closes_on date
crm.quotation|Offers to customers|opportunity>crm.opportunity, number, sent_on date, valid_until date, total numeric
crm.sales_order|Orders of customers|customer>crm.customer, number, ordered_on date, requested_on date, total numeric, state[entered|confirmed|shipped|invoiced|cancelled]
crm.sales_order_line|Lines of orders of customers|sales_order>crm.sales_order, material>mfg.material, quantity numeric, price numeric, discount_percent numeric
crm.complaint|What customers are unhappy with|customer>crm.customer, sales_order>crm.sales_order, reported_on date, severity(minor|major|critical), solved_on date
crm.visit|Visits at customers|customer>crm.customer, visitor>hr.employee, visited_on date, minutes int
qm.inspection|Checks of goods and products|material>mfg.material, inspector>hr.employee, inspected_at timestamptz, lot, verdict[accepted|conditional|rejected]
qm.measurement|Values measured in checks|inspection>qm.inspection, characteristic, measured numeric, lower_limit numeric, upper_limit numeric
qm.defect|Faults found|inspection>qm.inspection, code, count int, location
qm.corrective_action|Measures against faults|defect>qm.defect, owner>hr.employee, due_on date, done_on date, kind(immediate|permanent)
qm.audit|Audits of the system|plant>mfg.plant, standard(ISO9001|ISO14001|IATF16949), audited_on date, score numeric
qm.gauge|Measuring devices|name, calibrated_on date, next_calibration_on date, plant>mfg.plant
";

/// Returns the database.
pub(super) fn database() -> Database {
    let mut tables: Vec<Table> = TABLES.lines().map(Table::parse).collect();
    for table in &mut tables {
        table.extend(&STANDARD);
    }
    let mut left = COLUMNS - tables.iter().map(Table::width).sum::<usize>();
    for (at, name) in WIDEST.iter().enumerate() {
        let share = left / (WIDEST.len() - at);
        let custom: Vec<String> = (1..=share).map(|n| format!("custom_{n:03}")).collect();
        let table = tables.iter_mut().find(|table| table.name == *name);
        let table = table.expect("it is in the list");
        table.extend(&custom);
        left -= share;
    }
    let mut create = SCHEMAS.to_owned();
    let (mut fill, mut refer) = (String::new(), String::new());
    for table in &tables {
        table.create(&mut create);
        table.fill(&mut fill, ROWS);
        table.refer(&mut refer);
    }
    Database {
        scripts: vec![create, fill, refer],
        ..Database::new("wide", include_str!("../../questions/wide.yaml"))
    }
}
