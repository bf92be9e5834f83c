# One image for every role; compose.yaml says which command each container runs. Nothing is downloaded at run time.
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY requirements.txt ./
RUN python -m venv /venv \
    && torch=$(sed -n 's/^torch==\([0-9.]*\).*/\1/p' requirements.txt) \
    && (/venv/bin/pip install --no-cache-dir "torch==${torch}+cpu" || /venv/bin/pip install --no-cache-dir "torch==${torch}") \
    && /venv/bin/pip install --no-cache-dir -r requirements.txt

FROM python:3.12-slim
# git: each workspace has a repository of its own, so that no runtime looks for instructions above it.
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --shell /usr/sbin/nologin tikitaka \
    && install -d -o tikitaka -g tikitaka /data
COPY --from=build /venv /venv
WORKDIR /app
COPY manage.py ./
COPY tikitaka tikitaka
COPY apps apps
COPY config config
COPY templates templates
COPY static static
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 DJANGO_SETTINGS_MODULE=config.settings.production TIKITAKA_DATA=/data
RUN SECRET_KEY=$(python -c "print('b' * 50)") TIKITAKA_SEALING_KEY=$(python -c "print('b' * 32)") ALLOWED_HOSTS=build \
    DATABASE_URL=sqlite:////tmp/none python manage.py collectstatic --noinput
USER tikitaka
VOLUME /data
EXPOSE 8000
CMD ["gunicorn", "config.wsgi:application", "--bind", "0.0.0.0:8000", "--workers", "2", "--threads", "4"]
