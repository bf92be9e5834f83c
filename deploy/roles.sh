#!/bin/sh
# Run once by the database's container: the role that the application connects as. It owns nothing.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$(cat /run/secrets/app_password)" \
  --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE tikitaka_app LOGIN PASSWORD :'password';
SQL
