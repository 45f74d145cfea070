//! An authority with 20 departments: a schema for each, ten tables for each of their 20 subjects.

use std::fmt::Write as _;

use super::{Database, generated::Table};

/// The number of rows of a table.
const ROWS: usize = 12;

/// The departments with their subjects.
const DEPARTMENTS: [(&str, &str); 20] = [
    (
        "building",
        "permit site_inspection demolition scaffold crane_notice zoning_case plot_survey \
        fire_safety_review facade_grant heritage_case noise_report contractor appeal energy_audit \
        elevator_check occupancy_notice easement drainage_plan photo_record hearing",
    ),
    (
        "health",
        "vaccination outbreak food_inspection restaurant pool_test water_sample clinic_visit \
        hygiene_plan pest_report hospital_report quarantine screening birth_notice death_notice \
        pharmacy_licence midwife tattoo_studio allergy_alert complaint lab_request",
    ),
    (
        "schools",
        "enrolment teacher_vacancy bus_route lunch_contract exam parent_meeting playground \
        school_trip textbook_order absence scholarship classroom tutoring language_course \
        sports_day transfer disciplinary_case building_defect library_loan summer_camp",
    ),
    (
        "traffic",
        "road_closure parking_permit speed_camera traffic_light accident bike_lane \
        bridge_check road_sign tow_case taxi_licence pothole crossing winter_service toll \
        car_sharing bus_stop street_light vehicle_check detour speed_limit",
    ),
    (
        "parks",
        "tree playground_check bench flower_bed mowing_plan pond dog_permit event_booking \
        fountain hedge wildlife_sighting irrigation greenhouse cemetery_plot tree_felling \
        volunteer seed_order path_repair picnic_area sculpture",
    ),
    (
        "finance",
        "budget_line invoice payment_run tax_notice loan grant_award audit_finding asset \
        bank_transfer fee_schedule reserve_fund donation guarantee cash_desk dunning_letter \
        procurement_card refund forecast write_off insurance_policy",
    ),
    (
        "housing",
        "tenancy rent_subsidy flat waiting_list_entry eviction repair_request landlord \
        shelter_place heating_bill utility_meter deposit lease_renewal vacancy relocation \
        accessibility_grant mould_report key_handover caretaker rent_index squat",
    ),
    (
        "police",
        "incident patrol arrest_warrant witness evidence_item missing_person fine licence_check \
        emergency_call interview lost_property weapon_permit raid custody detective_case informant \
        crime_scene vehicle_theft burglary surveillance",
    ),
    (
        "fire",
        "alarm hydrant fire_engine drill rescue_mission hose ladder_truck false_alarm \
        smoke_detector volunteer_shift chemical_spill flood_response station breathing_mask \
        radio prevention_visit burn_permit ambulance dispatch equipment_test",
    ),
    (
        "culture",
        "museum exhibition concert artist theatre_ticket library_card festival archive_box \
        painting restoration film_permit residency choir guided_tour sponsor monument \
        workshop_course instrument reading stage_booking",
    ),
    (
        "waste",
        "collection_route bin recycling_yard bulky_pickup hazardous_load compost truck \
        illegal_dump landfill_cell container street_sweep weighing glass_bank paper_bank \
        e_waste fee_notice sorting_line spill missed_pickup litter_patrol",
    ),
    (
        "water",
        "main_break meter_reading well reservoir pump_station sewer_inspection connection \
        flood_gauge treatment_run leak_report valve pipe_section discharge_permit storm_basin \
        hardness_test water_right pressure_log customer_account billing_cycle shutoff",
    ),
    (
        "personnel",
        "employee payslip sick_leave vacation_request job_posting application appraisal \
        pension_case promotion overtime_sheet time_card secondment training_plan work_accident \
        apprenticeship mentor resignation badge parental_leave flexitime_account",
    ),
    (
        "it",
        "server laptop software_licence helpdesk_ticket network_switch backup_job user_account \
        phone_line printer data_breach release_plan firewall_rule certificate monitor_alert \
        access_request mobile_device database_instance domain_name service_contract patch_cycle",
    ),
    (
        "legal",
        "lawsuit contract opinion court_date settlement witness_statement bylaw power_of_attorney \
        trademark compensation_claim deadline arbitration legal_hold expert_report cost_order \
        objection mediation injunction land_register_entry notary_act",
    ),
    (
        "social",
        "benefit_claim foster_family counselling_session child_protection_case disability_pass \
        debt_advice refugee_intake elder_care_visit meal_service day_care_place youth_club \
        crisis_call adoption guardianship home_help travel_pass food_bank household \
        integration_course maintenance_advance",
    ),
    (
        "elections",
        "polling_station ballot candidate party postal_vote poll_worker recount \
        voter_roll petition referendum ballot_box district complaint_case result_sheet campaign_spot \
        voting_machine observer seal_log training_session count_center",
    ),
    (
        "tourism",
        "hotel guest_card city_tour brochure_order souvenir cruise_call visitor_survey \
        campsite trail info_desk overnight_stat tour_guide voucher trade_fair photo_licence \
        web_campaign bed_tax hiking_map attraction group_booking",
    ),
    (
        "economy",
        "business_licence trade_register market_stall start_up_grant site_offer craft_permit \
        shop_opening street_food investor export_advice trade_check pub_licence fair_booth \
        commercial_plot business_visit cluster_project job_fair tax_break retail_survey franchise",
    ),
    (
        "environment",
        "air_sample emission_permit noise_map soil_test climate_project bee_colony \
        wetland species_record solar_roof wind_turbine heat_plan contaminated_site green_loan \
        eco_label energy_advice carbon_balance river_check hunting_permit fishing_permit \
        protected_area",
    ),
];

/// The tables of a subject: what follows its name, and the columns.
const TABLES: [(&str, &str); 10] = [
    (
        "",
        "number, title, status(draft|open|closed|cancelled), case_worker, amount numeric, \
        opened_on date, closed_on date",
    ),
    (
        "_item",
        "position int, description, quantity numeric, unit_price numeric",
    ),
    (
        "_status_history",
        "status(draft|open|closed|cancelled), changed_at timestamptz, changed_by",
    ),
    ("_note", "author, body, written_at timestamptz"),
    (
        "_attachment",
        "file_name, media_type(pdf|image|text), size_bytes int, uploaded_at timestamptz",
    ),
    (
        "_approval",
        "approver, decision(pending|approved|rejected), decided_on date",
    ),
    ("_type", "code, label, is_current boolean"),
    (
        "_participant",
        "person, role(lead|member|observer), since date",
    ),
    (
        "_cost",
        "cost_kind(labour|material|travel|other), amount numeric, booked_on date",
    ),
    (
        "_archive",
        "number, title, archived_on date, retention_years int",
    ),
];

/// The tables that do not refer to their subject.
const FREE: [&str; 2] = ["_type", "_archive"];

/// Returns the database.
pub(super) fn database() -> Database {
    // One script for each department: the locks of a transaction are limited.
    let scripts = DEPARTMENTS.map(|(schema, subjects)| {
        let mut create = format!("CREATE SCHEMA {schema};\n");
        let (mut fill, mut refer) = (String::new(), String::new());
        let mut before = None;
        for subject in subjects.split_whitespace() {
            for (suffix, columns) in TABLES {
                let table = describe(schema, subject, suffix, columns, before);
                table.create(&mut create);
                table.fill(&mut fill, ROWS);
                table.refer(&mut refer);
            }
            before = Some(subject);
        }
        create + &fill + &refer
    });
    Database {
        scripts: scripts.to_vec(),
        is_large: true,
        ..Database::new("many", include_str!("../../questions/many.yaml"))
    }
}

/// Describes a table. Every subject also refers to its type and to the subject before it.
fn describe(
    schema: &str,
    subject: &str,
    suffix: &str,
    columns: &str,
    before: Option<&str>,
) -> Table {
    let words = subject.replace('_', " ");
    let comment = if suffix.is_empty() {
        format!("Cases of the department {schema}: {words}")
    } else {
        String::new()
    };
    let mut line = format!("{schema}.{subject}{suffix}|{comment}|");
    if suffix.is_empty() {
        write!(line, "type>{schema}.{subject}_type, ").expect("a string takes all that is written");
        if let Some(before) = before {
            write!(line, "{before}>{schema}.{before}, ")
                .expect("a string takes all that is written");
        }
    } else if !FREE.contains(&suffix) {
        write!(line, "{subject}>{schema}.{subject}, ").expect("a string takes all that is written");
    }
    Table::parse(&(line + columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_twenty_departments_with_twenty_subjects_each() {
        for (schema, subjects) in DEPARTMENTS {
            let mut subjects: Vec<_> = subjects.split_whitespace().collect();
            subjects.sort_unstable();
            subjects.dedup();
            assert_eq!(subjects.len(), 20, "{schema}");
        }
    }
}
