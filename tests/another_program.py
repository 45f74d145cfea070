"""A PostgreSQL client other than the programs under test."""

import psycopg


def connect(variables):
    """Connects with the variables of a PostgreSQL client."""
    return psycopg.connect(
        host=variables["PGHOST"],
        port=variables["PGPORT"],
        user=variables["PGUSER"],
        password=variables["PGPASSWORD"],
        dbname=variables["PGDATABASE"],
        autocommit=True,
        # Prepared statements belong to a session, and a pooler shares sessions.
        prepare_threshold=None,
    )
