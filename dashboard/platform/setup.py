"""Set-up in order: Java, files, jars, kernels, database, topics, test tools. What is done is skipped."""

import os
from pathlib import Path

from django.conf import settings

from dashboard.models import PlanVersion
from dashboard.planning.service import publish_pending
from dashboard.platform import database, kernels, test_tools
from dashboard.platform.checks import is_empty
from dashboard.platform.class_archive import ClassArchive
from dashboard.platform.frontend import FrontEnd
from dashboard.platform.problems import Problem, as_problems
from dashboard.platform.progress import Progress
from streaming import jars
from streaming.java import Java, find_java
from streaming.topics import Topics, create_topics


def log_file() -> Path:
    path = settings.VAR_DIR / "log" / "setup.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def prepare_files(progress: Progress) -> Java:
    """What comes from package registries or is made for this machine. The Java that was found and checked."""
    with as_problems():
        java = find_java()
        compiled = kernels.CompiledKernels(settings.BASE_DIR, settings.VAR_DIR)
        if compiled.are_current():
            _fetch_files(progress, java)
        else:
            with compiled.being_made() as wait:  # most of the rest waits for the network
                _fetch_files(progress, java)
                with progress.step("Kernels, compiled for this machine"):
                    wait()
        archive = ClassArchive(settings.BASE_DIR, settings.VAR_DIR, java)
        if not archive.is_current():
            with progress.step("Spark's classes, for quick starts"):
                archive.make(log_file())
        return java


def _fetch_files(progress: Progress, java: Java) -> None:
    """Front-end files and jars."""
    front_end = FrontEnd(settings.BASE_DIR, settings.VAR_DIR)
    if not front_end.is_complete():
        with progress.step("Front-end files") as tell:
            front_end.install(tell)
    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # WhiteNoise warns where it is missing
    directory = jars.jars_dir(settings.VAR_DIR)
    for jar_set in jars.JAR_SETS:
        if jars.missing(directory, jar_set):
            with progress.step(f"Jars: {jar_set.what}") as tell:
                jars.fetch(directory, jar_set, java.path, log_file(), tell)


def prepare_database(progress: Progress) -> database.NewAdmin | None:
    """Migrations, and the administrator if nobody can sign in yet."""
    with as_problems():
        if database.needs_migration():
            with progress.step("Database"):
                database.migrate()
        return database.ensure_admin()


def prepare_topics() -> None:
    create_topics(settings.KAFKA_BOOTSTRAP, Topics(settings.TOPIC_PREFIX).shared())


def plans_are_lost() -> bool:
    """Whether the cluster has none of our plans: it is a new one, or its data was thrown away."""
    plans = Topics(settings.TOPIC_PREFIX).plans
    return PlanVersion.objects.exists() and is_empty(settings.KAFKA_BOOTSTRAP, plans)


def restore_plans() -> None:
    """Send all plans again."""
    PlanVersion.objects.update(published_at=None)
    publish_pending()


def prepare_test_tools(progress: Progress) -> None:
    """A browser and servers for the tests. In CI each is needed; elsewhere its tests are skipped."""
    missing = test_tools.missing_tools()
    if missing and test_tools.can_install():
        with progress.step(f"Test tools: {', '.join(tool.what for tool in missing)}"):
            test_tools.install(missing, log_file())
        missing = test_tools.missing_tools()
    for tool in missing:
        sentence = (
            f"{tool.what} is missing, and the tests that use it will be skipped: install it "
            f"(on Debian and Ubuntu: apt-get install {tool.package})."
        )
        if os.environ.get("CI") == "true":
            raise Problem(sentence.replace("will be skipped", "may not be skipped in CI"))
        progress.note(sentence)


def admin_sentence(admin: database.NewAdmin) -> str:
    """Says who can sign in; the only time that a generated password is shown."""
    if admin.password is None:
        return f"Administrator “{admin.name}” created with the password of MILLRACE_ADMIN_PASSWORD."
    return f"Administrator “{admin.name}” created. Password, shown only now: {admin.password}"
