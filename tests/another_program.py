"""Connections to PostgreSQL that are not those of the programs here."""

import psycopg


def connect(variables):
    """A connection that the variables of a PostgreSQL client describe."""
    return psycopg.connect(
        host=variables["PGHOST"],
        port=variables["PGPORT"],
        user=variables["PGUSER"],
        password=variables["PGPASSWORD"],
        dbname=variables["PGDATABASE"],
        autocommit=True,
        # Prepared statements are of a session, which a pooler shares.
        prepare_threshold=None,
    )
