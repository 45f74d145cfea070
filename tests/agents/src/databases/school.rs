//! A school with composite primary and foreign keys: years, classes, lessons and marks.

use super::Database;

/// Returns the database.
pub(super) fn database() -> Database {
    Database {
        scripts: vec![TABLES.to_owned(), TEACHING.to_owned(), ROWS.to_owned()],
        ..Database::new("school", include_str!("../../questions/school.yaml"))
    }
}

const TABLES: &str = "
CREATE SCHEMA people;
CREATE SCHEMA teaching;
CREATE SCHEMA premises;
CREATE TYPE people.guardian_kind AS ENUM ('mother', 'father', 'grandparent', 'other');
CREATE TYPE teaching.attendance_state AS ENUM ('present', 'late', 'excused', 'absent');

CREATE TABLE people.student (
    student_no int PRIMARY KEY,
    given_name text NOT NULL,
    family_name text NOT NULL,
    born_on date NOT NULL,
    entered_on date NOT NULL,
    left_on date CHECK (left_on > entered_on),
    meal_plan text CHECK (meal_plan IN ('none', 'standard', 'vegetarian', 'halal'))
);
COMMENT ON TABLE people.student IS 'Pupils, also former ones';
COMMENT ON COLUMN people.student.left_on IS 'Null while the pupil attends the school';
CREATE TABLE people.guardian (
    student_no int REFERENCES people.student,
    guardian_no int,
    name text NOT NULL,
    kind people.guardian_kind NOT NULL,
    phone text,
    may_collect boolean NOT NULL DEFAULT true,
    PRIMARY KEY (student_no, guardian_no)
);
COMMENT ON TABLE people.guardian IS 'Parents and other people who care for a pupil';
COMMENT ON COLUMN people.guardian.may_collect IS 'True if they may pick the pupil up';
CREATE TABLE people.teacher (
    code char(3) PRIMARY KEY,
    full_name text NOT NULL,
    hired_on date NOT NULL,
    weekly_hours int NOT NULL CHECK (weekly_hours BETWEEN 1 AND 28),
    subjects text[] NOT NULL
);
COMMENT ON COLUMN people.teacher.code IS 'Three letters, as on the timetable';
COMMENT ON COLUMN people.teacher.subjects IS 'Codes of the subjects the teacher may teach';

CREATE TABLE premises.building (code char(1) PRIMARY KEY, name text NOT NULL, built_year int);
CREATE TABLE premises.room (
    building_code char(1) REFERENCES premises.building,
    room_no int,
    seats int NOT NULL,
    equipment jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (building_code, room_no)
);
COMMENT ON COLUMN premises.room.equipment IS
    'JSON: projector (bool), computers (number), lab (bool)';
";

const TEACHING: &str = "
CREATE TABLE teaching.school_year (
    year int PRIMARY KEY,
    starts_on date NOT NULL,
    ends_on date NOT NULL
);
COMMENT ON COLUMN teaching.school_year.year IS 'The year in which it starts';
CREATE TABLE teaching.class (
    year int REFERENCES teaching.school_year,
    grade int CHECK (grade BETWEEN 5 AND 12),
    letter char(1),
    head_teacher char(3) NOT NULL REFERENCES people.teacher,
    building_code char(1) NOT NULL,
    room_no int NOT NULL,
    PRIMARY KEY (year, grade, letter),
    FOREIGN KEY (building_code, room_no) REFERENCES premises.room
);
COMMENT ON TABLE teaching.class IS 'Groups of pupils in a year, such as 7b';
CREATE TABLE teaching.enrolment (
    student_no int REFERENCES people.student,
    year int,
    grade int NOT NULL,
    letter char(1) NOT NULL,
    repeats boolean NOT NULL DEFAULT false,
    PRIMARY KEY (student_no, year),
    FOREIGN KEY (year, grade, letter) REFERENCES teaching.class
);
COMMENT ON TABLE teaching.enrolment IS 'The class of a pupil in a year';
COMMENT ON COLUMN teaching.enrolment.repeats IS 'True if the pupil does the grade again';
CREATE TABLE teaching.subject (
    code char(3) PRIMARY KEY,
    title text NOT NULL,
    area text NOT NULL CHECK (area IN ('languages', 'science', 'arts', 'sport', 'society'))
);
CREATE TABLE teaching.course (
    year int,
    grade int,
    letter char(1),
    subject_code char(3) REFERENCES teaching.subject,
    teacher_code char(3) NOT NULL REFERENCES people.teacher,
    hours_per_week int NOT NULL,
    PRIMARY KEY (year, grade, letter, subject_code),
    FOREIGN KEY (year, grade, letter) REFERENCES teaching.class
);
COMMENT ON TABLE teaching.course IS 'A subject taught to a class in a year';
CREATE TABLE teaching.lesson (
    year int,
    grade int,
    letter char(1),
    subject_code char(3),
    held_on date,
    period int CHECK (period BETWEEN 1 AND 10),
    topic text,
    is_substituted boolean NOT NULL DEFAULT false,
    PRIMARY KEY (year, grade, letter, subject_code, held_on, period),
    FOREIGN KEY (year, grade, letter, subject_code) REFERENCES teaching.course
);
COMMENT ON COLUMN teaching.lesson.is_substituted IS 'True if another teacher stood in';
CREATE TABLE teaching.attendance (
    student_no int REFERENCES people.student,
    year int,
    grade int,
    letter char(1),
    subject_code char(3),
    held_on date,
    period int,
    state teaching.attendance_state NOT NULL,
    PRIMARY KEY (student_no, held_on, period),
    FOREIGN KEY (year, grade, letter, subject_code, held_on, period) REFERENCES teaching.lesson
);
CREATE TABLE teaching.mark (
    student_no int REFERENCES people.student,
    year int,
    grade int,
    letter char(1),
    subject_code char(3),
    term int CHECK (term IN (1, 2)),
    points int NOT NULL CHECK (points BETWEEN 0 AND 15),
    kind text NOT NULL CHECK (kind IN ('oral', 'written', 'final')),
    PRIMARY KEY (student_no, year, subject_code, term, kind),
    FOREIGN KEY (year, grade, letter, subject_code) REFERENCES teaching.course
);
COMMENT ON TABLE teaching.mark IS 'Grades that pupils got; 15 points are best';
COMMENT ON COLUMN teaching.mark.grade IS 'The grade of the class, not the mark';
COMMENT ON COLUMN teaching.mark.term IS '1: first half of the school year, 2: second half';
CREATE INDEX mark_course ON teaching.mark (year, grade, letter, subject_code);
CREATE TABLE teaching.club (
    id int PRIMARY KEY,
    name text NOT NULL,
    leader char(3) REFERENCES people.teacher,
    weekday text NOT NULL CHECK (weekday IN ('mon', 'tue', 'wed', 'thu', 'fri'))
);
CREATE TABLE teaching.club_member (
    club_id int REFERENCES teaching.club,
    student_no int REFERENCES people.student,
    joined_on date NOT NULL,
    PRIMARY KEY (club_id, student_no)
);
COMMENT ON TABLE teaching.club IS 'Afternoon activities such as choir or chess';
CREATE VIEW teaching.report_card AS
    SELECT m.student_no, s.given_name, s.family_name, m.year, m.term, m.subject_code, m.points
    FROM teaching.mark m JOIN people.student s ON s.student_no = m.student_no
    WHERE m.kind = 'final';
COMMENT ON VIEW teaching.report_card IS 'Final marks as printed at the end of a term';
";

const ROWS: &str = "
INSERT INTO people.student
    SELECT n, (ARRAY['Mia', 'Noah', 'Lina', 'Tom', 'Zoe', 'Max'])[n % 6 + 1],
        (ARRAY['Berg', 'Kaya', 'Novak', 'Silva', 'Wang'])[n % 5 + 1], date '2008-01-01' + n * 15,
        date '2019-08-15' + n % 4 * 365, CASE WHEN n % 17 = 0 THEN date '2024-06-30' END,
        (ARRAY['none', 'standard', 'vegetarian', 'halal'])[n % 4 + 1]
    FROM generate_series(1, 120) n;
INSERT INTO people.guardian
    SELECT s, g, 'Guardian ' || s || '-' || g, (ARRAY['mother', 'father', 'grandparent', 'other'])
        [(s / 3 + g) % 4 + 1]::people.guardian_kind, CASE WHEN s % 3 > 0 THEN '0151-' || s END, s % 9 > 0
    FROM generate_series(1, 120) s, generate_series(1, 2) g;
INSERT INTO people.teacher
    SELECT 'T' || lpad(n::text, 2, '0'), 'Teacher ' || n, date '2005-08-01' + n * 200, 14 + n % 14,
        (ARRAY[ARRAY['MAT', 'PHY'], ARRAY['ENG', 'FRA'], ARRAY['ART', 'SPO'], ARRAY['HIS', 'ENG']])
        [n % 4 + 1 : n % 4 + 1][1:2]
    FROM generate_series(1, 16) n;
UPDATE people.teacher SET subjects = ARRAY(SELECT unnest(subjects));
INSERT INTO premises.building VALUES ('A', 'Main house', 1908), ('B', 'Science wing', 1987),
    ('S', 'Sports hall', 2011);
INSERT INTO premises.room
    SELECT b, n, 20 + n % 12, jsonb_build_object('projector', n % 2 = 0, 'computers', n % 5 * 4,
        'lab', b = 'B' AND n % 3 = 0)
    FROM unnest(ARRAY['A', 'B', 'S']) b, generate_series(101, 108) n;
INSERT INTO teaching.school_year VALUES (2022, '2022-08-15', '2023-06-30'),
    (2023, '2023-08-14', '2024-06-28'), (2024, '2024-08-12', '2025-06-27');
INSERT INTO teaching.class
    SELECT y, g, l, 'T' || lpad(((y + g) % 16 + 1)::text, 2, '0'), (ARRAY['A', 'B'])[g % 2 + 1],
        101 + g % 8
    FROM generate_series(2022, 2024) y, generate_series(5, 8) g, unnest(ARRAY['a', 'b']) l;
INSERT INTO teaching.enrolment
    SELECT s, y, 5 + (s + y) % 4, (ARRAY['a', 'b'])[s % 2 + 1], s % 20 = 0 AND y = 2024
    FROM generate_series(1, 120) s, generate_series(2022, 2024) y;
INSERT INTO teaching.subject VALUES ('MAT', 'Mathematics', 'science'), ('PHY', 'Physics', 'science'),
    ('ENG', 'English', 'languages'), ('FRA', 'French', 'languages'), ('ART', 'Art', 'arts'),
    ('SPO', 'Sports', 'sport'), ('HIS', 'History', 'society');
INSERT INTO teaching.course
    SELECT c.year, c.grade, c.letter, s.code, 'T' || lpad(((c.grade + ascii(s.code)) % 16 + 1)::text,
        2, '0'), 2 + c.grade % 3
    FROM teaching.class c, teaching.subject s;
INSERT INTO teaching.lesson
    SELECT c.year, c.grade, c.letter, c.subject_code, date '2024-09-02' + d,
        (ascii(c.subject_code) + d) % 6 + 1, 'Topic ' || d, d % 4 = 0
    FROM teaching.course c, generate_series(0, 3) d WHERE c.year = 2024;
INSERT INTO teaching.attendance
    SELECT DISTINCT ON (e.student_no, l.held_on, l.period) e.student_no, l.year, l.grade, l.letter,
        l.subject_code, l.held_on, l.period, (ARRAY['present', 'present', 'present', 'late',
        'excused', 'absent'])[(e.student_no + l.period) % 6 + 1]::teaching.attendance_state
    FROM teaching.lesson l JOIN teaching.enrolment e
        ON e.year = l.year AND e.grade = l.grade AND e.letter = l.letter
    ORDER BY e.student_no, l.held_on, l.period, l.subject_code;
INSERT INTO teaching.mark
    SELECT e.student_no, e.year, e.grade, e.letter, s.code, t, (e.student_no * 7 + t + ascii(s.code)
        + e.year) % 16, k
    FROM teaching.enrolment e, teaching.subject s, generate_series(1, 2) t,
        unnest(ARRAY['oral', 'final']) k WHERE e.year >= 2023;
INSERT INTO teaching.club VALUES (1, 'Choir', 'T03', 'mon'), (2, 'Chess', 'T01', 'wed'),
    (3, 'Robotics', 'T05', 'wed'), (4, 'Football', 'T03', 'fri');
INSERT INTO teaching.club_member
    SELECT n % 4 + 1, n, date '2024-09-01' + n % 20 FROM generate_series(1, 90) n;
";
