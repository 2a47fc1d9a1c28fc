"""Settings, all from the environment (`.env.example` lists every key); defaults need no server."""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

from dashboard.platform.page_files import version_of
from dashboard.platform.private_files import keep_private
from streaming import addresses, security

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
env.read_env(BASE_DIR / ".env")

VAR_DIR = Path(env("MILLRACE_VAR", default=str(BASE_DIR / "var"))).resolve()
VAR_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)
keep_private(VAR_DIR)
# Before anything compiled is imported: set-up has filled this cache, and previews use it, too.
os.environ.setdefault("NUMBA_CACHE_DIR", str(VAR_DIR / "numba"))


def _kept_secret(name: str, make: Callable[[], str]) -> str:
    """A key of an installation that was given none: made once, readable by its owner."""
    path = VAR_DIR / name
    if not path.exists():
        own = path.with_suffix(f".{os.getpid()}")
        own.touch(mode=0o600)
        own.write_text(make())
        with suppress(FileExistsError):  # another process was faster: all use its key
            os.link(own, path)
        own.unlink()
    return path.read_text()


SECRET_KEY = env("MILLRACE_SECRET_KEY", default="") or _kept_secret(
    "secret_key", lambda: secrets.token_urlsafe(50)
)
# In the environment, where the job and its workers find it, too.
os.environ["MILLRACE_SECRETS_KEY"] = env("MILLRACE_SECRETS_KEY", default="") or _kept_secret(
    "secrets_key", security.new_key
)
try:
    security.check_keys()
except security.SecretProblem as problem:
    raise ImproperlyConfigured(str(problem)) from problem
DEBUG = env.bool("MILLRACE_DEBUG", default=False)
DEFAULT_EXCEPTION_REPORTER_FILTER = "dashboard.platform.error_pages.AlwaysDiscreet"
ALLOWED_HOSTS = env.list("MILLRACE_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_FAILURE_VIEW = "dashboard.shell.out_of_date"
CSRF_TRUSTED_ORIGINS = env.list("MILLRACE_TRUSTED_ORIGINS", default=[])

# Kafka: Millrace's own topics; sources may live on other clusters.
KAFKA_BOOTSTRAP = env("MILLRACE_KAFKA", default="127.0.0.1:19092")
TOPIC_PREFIX = env("MILLRACE_TOPIC_PREFIX", default="millrace")
SPARK_MASTER = env("SPARK_MASTER", default="local[*]")

INSTALLED_APPS = [
    "dashboard",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "axes",
    "channels",
    "django_htmx",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "dashboard.platform.content_policy.content_policy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "dashboard.accounts.gate.Gate",
    "dashboard.accounts.sessions.noting_use",
    "dashboard.audit.acting.acting",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AXES_HANDLER = "dashboard.accounts.guessing.CountedByAddress"
AXES_FAILURE_LIMIT = 10  # for one user name at one address
ADDRESS_FAILURE_LIMIT = 50  # for one address
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_CALLABLE = "dashboard.accounts.guessing.locked_out"
AXES_CLIENT_IP_CALLABLE = "dashboard.accounts.guessing.address_of"
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False

ROOT_URLCONF = "dashboard.urls"
ASGI_APPLICATION = "dashboard.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.shell.shell",
            ],
        },
    },
]

DATABASES = {"default": env.db_url("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'millrace.sqlite3'}")}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Web and commands write at the same time: wait for the other instead of failing at once.
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env("REDIS_URL", default="")
# Each web process relays Kafka to its own sockets, so the in-memory layer serves any number of them.
CHANNEL_LAYERS = {
    "default": (
        {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [REDIS_URL]}}
        if REDIS_URL
        else {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    )
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
PASSWORD_RESET_TIMEOUT = 3 * 24 * 3600  # s; of invitations, too
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "start"
LOGOUT_REDIRECT_URL = "sign-in"

# Without a mail server nothing is mailed: administrators make links and hand them over themselves.
_mail_server = env("MILLRACE_EMAIL_URL", default="")
MAILS = bool(_mail_server)
if MAILS:
    vars().update(environ.Env.email_url_config(_mail_server))
else:
    EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
DEFAULT_FROM_EMAIL = env("MILLRACE_EMAIL_FROM", default="millrace@localhost")
EMAIL_TIMEOUT = 10  # s

# Behind TLS (set by the operator) cookies never travel in the clear, and browsers ask by TLS from the start.
HTTPS = env.bool("MILLRACE_HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = env.int("MILLRACE_HSTS_SECONDS", default=365 * 24 * 3600) if HTTPS else 0
# What other names below this one do, and lists of browsers, are not ours to decide; `check --deploy` asks.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
# Proxies that are believed when they say where a request comes from. What ends TLS is mostly on this machine.
TRUSTED_PROXIES = env.list("MILLRACE_TRUSTED_PROXIES", default=["127.0.0.1", "::1"] if HTTPS else [])
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SESSION_COOKIE_HTTPONLY = True
# Without a request for so long, somebody has to sign in again.
SESSION_COOKIE_AGE = 60 * env.int("MILLRACE_SESSION_IDLE_MINUTES", default=14 * 24 * 60)
# Bytes of a request by somebody who has an account; strangers may send less (`platform/body_limit.py`).
DATA_UPLOAD_MAX_MEMORY_SIZE = 2560 * 1024
# Open pages, in each web process: of one person, and of one address whose people have links and no account.
SOCKETS_PER_PERSON = env.int("MILLRACE_SOCKETS_PER_PERSON", default=100)
SOCKETS_PER_ADDRESS = env.int("MILLRACE_SOCKETS_PER_ADDRESS", default=500)
SECURE_REFERRER_POLICY = "same-origin"
# Whose pages may show a dashboard of ours by a share link; no others can frame any page.
EMBED_ORIGINS = env.list("MILLRACE_EMBED_ORIGINS", default=[])

BIN_DAYS = env.int("MILLRACE_BIN_DAYS", default=30)  # how long what was deleted can be restored

# Where messages lead to, and what alerts may call.
SITE_ADDRESS = env("MILLRACE_ADDRESS", default="http://127.0.0.1:8000").rstrip("/")


def _networks(name: str, default: str) -> tuple[addresses.IpNetwork, ...]:
    try:
        return addresses.networks_of(env(name, default=default))
    except ValueError as problem:
        raise ImproperlyConfigured(f"{name}: {problem}") from problem


WEBHOOK_NETWORKS = _networks("MILLRACE_WEBHOOK_NETWORKS", "")
_networks(addresses.SETTING, addresses.DEFAULT)  # for clusters and registries; `streaming.addresses` reads it

# What people may ask before they are refused in words (`dashboard/queries/limits.py`); 0: no limit.
LIMITS = {
    "queries_per_person": env.int("MILLRACE_QUERIES_PER_PERSON", default=1_000),
    "queries_per_source": env.int("MILLRACE_QUERIES_PER_SOURCE", default=5_000),
    "windows_per_person": env.int("MILLRACE_WINDOWS_PER_PERSON", default=10_000),
    "windows_per_source": env.int("MILLRACE_WINDOWS_PER_SOURCE", default=50_000),
    "groups_per_person": env.int("MILLRACE_GROUPS_PER_PERSON", default=10_000_000),
    "groups_per_source": env.int("MILLRACE_GROUPS_PER_SOURCE", default=20_000_000),
    "results_per_person": env.int("MILLRACE_RESULTS_PER_PERSON", default=1_000_000),  # a second
    "results_per_source": env.int("MILLRACE_RESULTS_PER_SOURCE", default=2_000_000),  # likewise
    "overlap": env.int("MILLRACE_OVERLAP", default=100_000),  # range / slide of a window
    "api_rate": env.int("MILLRACE_API_RATE", default=50),  # requests a second of a person, in each process
}

# Their version is in the address of the browser's files: it asks for each of them once, not with every page.
STATIC_VERSION = "changing" if DEBUG else version_of(BASE_DIR / "static")
STATIC_URL = f"static/{STATIC_VERSION}/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_IMMUTABLE_FILE_TEST = "(?!)" if DEBUG else "."  # none of them, or all

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env("MILLRACE_LOG_LEVEL", default="INFO")},
    "loggers": {
        **{name: {"level": "WARNING"} for name in ("py4j", "uvicorn", "axes")},
        # It repeats every failed connection; what we make of it we say ourselves.
        "kafka": {"level": "CRITICAL"},
    },
}
