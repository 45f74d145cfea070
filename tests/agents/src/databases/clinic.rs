//! A clinic with guarded rows: policies hide rows, and the reader has no rights on the accounts.

use super::Database;

/// Returns the database.
pub(super) fn database() -> Database {
    Database {
        scripts: vec![
            PATIENTS.to_owned(),
            CARE.to_owned(),
            GUARDS.to_owned(),
            ROWS.to_owned(),
        ],
        grants: Some(GRANTS),
        ..Database::new("clinic", include_str!("../../questions/clinic.yaml"))
    }
}

/// The rights of the reader; `{role}` is its name.
const GRANTS: &str = "
GRANT USAGE ON SCHEMA patients, care, pharmacy, accounts TO {role};
GRANT SELECT ON ALL TABLES IN SCHEMA patients, care, pharmacy TO {role};
REVOKE SELECT ON patients.contact_consent FROM {role};
";

const PATIENTS: &str = "
CREATE SCHEMA patients;
CREATE SCHEMA care;
CREATE SCHEMA pharmacy;
CREATE SCHEMA accounts;
CREATE SCHEMA hr;
CREATE TYPE patients.sex AS ENUM ('female', 'male', 'diverse');
CREATE TYPE care.stay_kind AS ENUM ('inpatient', 'outpatient', 'day_case', 'emergency');
CREATE TYPE care.urgency AS ENUM ('routine', 'urgent', 'stat');

CREATE TABLE patients.patient (
    mrn text PRIMARY KEY,
    surname text NOT NULL,
    given_name text NOT NULL,
    sex patients.sex NOT NULL,
    date_of_birth date NOT NULL,
    deceased_on date,
    blood_group text CHECK (blood_group IN ('0+', '0-', 'A+', 'A-', 'B+', 'B-', 'AB+', 'AB-')),
    is_confidential boolean NOT NULL DEFAULT false
);
COMMENT ON COLUMN patients.patient.mrn IS 'Medical record number, printed on the wristband';
COMMENT ON COLUMN patients.patient.is_confidential IS 'Hidden from ordinary readers';
CREATE TABLE patients.allergy (
    mrn text REFERENCES patients.patient,
    substance text,
    severity text NOT NULL CHECK (severity IN ('mild', 'moderate', 'severe')),
    noted_on date NOT NULL,
    PRIMARY KEY (mrn, substance)
);
CREATE TABLE patients.insurance (
    mrn text REFERENCES patients.patient,
    insurer text NOT NULL,
    policy_number text NOT NULL,
    is_private boolean NOT NULL,
    valid daterange NOT NULL,
    PRIMARY KEY (mrn, policy_number)
);
COMMENT ON COLUMN patients.insurance.valid IS 'Days on which the cover holds';
CREATE TABLE patients.contact_consent (
    mrn text PRIMARY KEY REFERENCES patients.patient,
    may_call boolean NOT NULL,
    may_mail boolean NOT NULL
);
";

const CARE: &str = "
CREATE TABLE care.department (
    code text PRIMARY KEY,
    name text NOT NULL,
    beds int NOT NULL
);
CREATE TABLE care.clinician (
    id int PRIMARY KEY,
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('physician', 'nurse', 'therapist')),
    department_code text NOT NULL REFERENCES care.department,
    specialty text
);
COMMENT ON TABLE care.clinician IS 'Doctors, nurses and therapists';
CREATE TABLE care.stay (
    id int PRIMARY KEY,
    mrn text NOT NULL REFERENCES patients.patient,
    department_code text NOT NULL REFERENCES care.department,
    attending_id int NOT NULL REFERENCES care.clinician,
    kind care.stay_kind NOT NULL,
    admitted_at timestamptz NOT NULL,
    discharged_at timestamptz CHECK (discharged_at >= admitted_at),
    bed text
);
COMMENT ON TABLE care.stay IS 'Visits and hospital stays (encounters)';
COMMENT ON COLUMN care.stay.attending_id IS 'The physician in charge';
COMMENT ON COLUMN care.stay.discharged_at IS 'Null while the patient is in the house';
CREATE TABLE care.diagnosis (
    stay_id int REFERENCES care.stay,
    icd10 text,
    is_primary boolean NOT NULL,
    confirmed_on date,
    PRIMARY KEY (stay_id, icd10)
);
CREATE TABLE care.icd10_code (icd10 text PRIMARY KEY, title text NOT NULL, chapter text NOT NULL);
ALTER TABLE care.diagnosis ADD FOREIGN KEY (icd10) REFERENCES care.icd10_code;
COMMENT ON TABLE care.icd10_code IS 'Names of diseases by international code';
CREATE TABLE care.lab_order (
    id int PRIMARY KEY,
    stay_id int NOT NULL REFERENCES care.stay,
    urgency care.urgency NOT NULL,
    ordered_by int NOT NULL REFERENCES care.clinician,
    ordered_at timestamptz NOT NULL
);
CREATE TABLE care.lab_result (
    order_id int REFERENCES care.lab_order,
    analyte text,
    value numeric NOT NULL,
    unit text NOT NULL,
    reference_low numeric,
    reference_high numeric,
    PRIMARY KEY (order_id, analyte)
);
COMMENT ON TABLE care.lab_result IS 'Values measured in the laboratory';
COMMENT ON COLUMN care.lab_result.analyte IS 'HB, CRP, K, NA or GLU';
CREATE TABLE care.vital_sign (
    stay_id int REFERENCES care.stay,
    taken_at timestamptz,
    readings jsonb NOT NULL,
    PRIMARY KEY (stay_id, taken_at)
);
COMMENT ON COLUMN care.vital_sign.readings IS
    'JSON: pulse, systolic, diastolic, temperature, oxygen';
CREATE TABLE care.operation (
    id int PRIMARY KEY,
    stay_id int NOT NULL REFERENCES care.stay,
    surgeon_id int NOT NULL REFERENCES care.clinician,
    procedure_name text NOT NULL,
    theatre int NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    asa_class int CHECK (asa_class BETWEEN 1 AND 5)
);
COMMENT ON COLUMN care.operation.asa_class IS 'Risk of the anaesthesia, 1 is lowest';
CREATE TABLE pharmacy.drug (
    atc text PRIMARY KEY,
    name text NOT NULL,
    form text NOT NULL CHECK (form IN ('tablet', 'infusion', 'injection', 'ointment')),
    is_controlled boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE pharmacy.drug IS 'Medicines of the house';
CREATE TABLE pharmacy.prescription (
    id int PRIMARY KEY,
    stay_id int NOT NULL REFERENCES care.stay,
    atc text NOT NULL REFERENCES pharmacy.drug,
    prescribed_by int NOT NULL REFERENCES care.clinician,
    dose_mg numeric NOT NULL,
    times_a_day int NOT NULL,
    starts_on date NOT NULL,
    ends_on date
);
CREATE TABLE accounts.invoice (id int PRIMARY KEY, stay_id int REFERENCES care.stay, total numeric);
CREATE TABLE accounts.reminder (invoice_id int REFERENCES accounts.invoice, sent_on date);
CREATE TABLE hr.salary (clinician_id int REFERENCES care.clinician, gross numeric);
CREATE VIEW care.current_inpatient WITH (security_barrier) AS
    SELECT s.id AS stay_id, s.mrn, s.department_code, s.bed, s.admitted_at
    FROM care.stay s JOIN patients.patient p ON p.mrn = s.mrn
    WHERE s.kind = 'inpatient' AND s.discharged_at IS NULL AND NOT p.is_confidential;
COMMENT ON VIEW care.current_inpatient IS 'Patients who are in a bed now';
";

const GUARDS: &str = "
ALTER TABLE patients.patient ENABLE ROW LEVEL SECURITY;
CREATE POLICY not_confidential ON patients.patient FOR SELECT USING (NOT is_confidential);
ALTER TABLE care.stay ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_visible_patients ON care.stay FOR SELECT
    USING (EXISTS (SELECT FROM patients.patient p WHERE p.mrn = stay.mrn));
ALTER TABLE pharmacy.prescription ENABLE ROW LEVEL SECURITY;
CREATE POLICY not_controlled ON pharmacy.prescription FOR SELECT
    USING (EXISTS (SELECT FROM pharmacy.drug d WHERE d.atc = prescription.atc
                   AND NOT d.is_controlled));
";

const ROWS: &str = "
INSERT INTO patients.patient
    SELECT 'M' || 1000 + n, (ARRAY['Adler', 'Brandt', 'Cruz', 'Dogan'])[n % 4 + 1], 'Given ' || n,
        (ARRAY['female', 'male', 'diverse', 'female', 'male'])[n % 5 + 1]::patients.sex,
        date '1935-01-01' + n * 320, CASE WHEN n % 25 = 0 THEN date '2024-05-01' + n END,
        (ARRAY['0+', 'A+', 'B+', 'AB-'])[n % 4 + 1], n % 10 = 9
    FROM generate_series(1, 90) n;
INSERT INTO patients.allergy
    SELECT 'M' || 1000 + n, (ARRAY['penicillin', 'latex', 'nuts'])[n % 3 + 1],
        (ARRAY['mild', 'moderate', 'severe'])[n % 3 + 1], date '2022-01-01' + n
    FROM generate_series(1, 90, 2) n;
INSERT INTO patients.insurance
    SELECT 'M' || 1000 + n, (ARRAY['AOK', 'Barmer', 'Debeka'])[n % 3 + 1], 'P' || n, n % 3 = 2,
        daterange('2023-01-01', date '2024-06-30' + n * 5)
    FROM generate_series(1, 90) n;
INSERT INTO care.department VALUES ('CARD', 'Cardiology', 24), ('SURG', 'Surgery', 40),
    ('PED', 'Paediatrics', 18), ('ER', 'Emergency', 10);
INSERT INTO care.clinician
    SELECT n, 'Clinician ' || n, (ARRAY['physician', 'nurse', 'physician', 'therapist'])[n % 4 + 1],
        (ARRAY['CARD', 'SURG', 'PED', 'ER'])[n % 4 + 1],
        CASE WHEN n % 2 = 0 THEN (ARRAY['cardiology', 'anaesthesia'])[n % 4 / 2 + 1] END
    FROM generate_series(1, 24) n;
INSERT INTO care.stay
    SELECT n, 'M' || 1000 + n % 90 + 1, (ARRAY['CARD', 'SURG', 'PED', 'ER'])[n % 4 + 1],
        n % 12 * 2 + 2, (ARRAY['inpatient', 'inpatient', 'outpatient', 'day_case', 'emergency'])
        [n % 5 + 1]::care.stay_kind, timestamptz '2024-01-02 07:00+00' + n * interval '31 hours',
        CASE WHEN n % 6 > 0 THEN timestamptz '2024-01-05 15:00+00' + n * interval '31 hours' END,
        CASE WHEN n % 5 < 2 THEN 'B' || n % 40 END
    FROM generate_series(1, 240) n;
INSERT INTO care.icd10_code VALUES ('I21', 'Heart attack', 'circulatory'),
    ('I10', 'High blood pressure', 'circulatory'), ('J18', 'Pneumonia', 'respiratory'),
    ('S72', 'Fracture of the thigh', 'injury'), ('E11', 'Type 2 diabetes', 'endocrine');
INSERT INTO care.diagnosis
    SELECT s, (ARRAY['I21', 'I10', 'J18', 'S72', 'E11'])[(s + k) % 5 + 1], k = 0, date '2024-01-04' + s
    FROM generate_series(1, 240) s, generate_series(0, 1) k;
INSERT INTO care.lab_order
    SELECT n, n % 240 + 1, (ARRAY['routine', 'routine', 'urgent', 'stat'])[n % 4 + 1]::care.urgency,
        n % 24 + 1, timestamptz '2024-01-03 06:00+00' + n * interval '20 hours'
    FROM generate_series(1, 300) n;
INSERT INTO care.lab_result
    SELECT o, a, 1 + (o * 13) % 160, CASE a WHEN 'HB' THEN 'g/dl' ELSE 'mmol/l' END, 3.5, 90
    FROM generate_series(1, 300) o, unnest(ARRAY['HB', 'CRP', 'K', 'NA', 'GLU']) a;
INSERT INTO care.vital_sign
    SELECT n, timestamptz '2024-01-03 08:00+00' + n * interval '31 hours',
        jsonb_build_object('pulse', 55 + n % 60, 'systolic', 100 + n % 80, 'diastolic', 60 + n % 40,
            'temperature', 36 + n % 40 / 10.0, 'oxygen', 88 + n % 12)
    FROM generate_series(1, 240) n;
INSERT INTO care.operation
    SELECT n, n * 4, n % 12 * 2 + 2, (ARRAY['hip replacement', 'appendectomy', 'bypass'])[n % 3 + 1],
        n % 4 + 1, timestamptz '2024-01-10 08:00+00' + n * interval '5 days',
        timestamptz '2024-01-10 10:00+00' + n * interval '121 hours', n % 5 + 1
    FROM generate_series(1, 55) n;
INSERT INTO pharmacy.drug VALUES ('N02BE01', 'Paracetamol', 'tablet', false),
    ('J01CA04', 'Amoxicillin', 'tablet', false), ('N02AA01', 'Morphine', 'injection', true),
    ('B01AB01', 'Heparin', 'infusion', false);
INSERT INTO pharmacy.prescription
    SELECT n, n % 240 + 1, (ARRAY['N02BE01', 'J01CA04', 'N02AA01', 'B01AB01'])[n % 4 + 1], n % 24 + 1,
        100 + n % 4 * 250, n % 3 + 1, date '2024-01-04' + n,
        CASE WHEN n % 3 > 0 THEN date '2024-01-10' + n END
    FROM generate_series(1, 320) n;
INSERT INTO accounts.invoice SELECT n, n, 100 + n FROM generate_series(1, 100) n;
";
