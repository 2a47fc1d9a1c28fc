"""Signing in and out, one's account, people and groups, and who may see what."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView, PasswordResetDoneView
from django.urls import path

from dashboard.accounts import access_views, account_views, people_views, views
from dashboard.accounts.forms import SignInForm

urlpatterns = [
    path(
        "sign-in/",
        LoginView.as_view(
            template_name="accounts/sign_in.html",
            authentication_form=SignInForm,
            redirect_authenticated_user=True,
        ),
        name="sign-in",
    ),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("password/forgotten/", account_views.Forgotten.as_view(), name="password-forgotten"),
    path(
        "password/forgotten/mailed/",
        login_not_required(PasswordResetDoneView.as_view(template_name="accounts/mailed.html")),
        name="password-mailed",
    ),
    path("password/set/<uidb64>/<token>/", account_views.SetPassword.as_view(), name="password-set"),
    path("account/", account_views.account, name="account"),
    path("account/password/", account_views.change_password, name="account-password"),
    path("account/sessions/end-others/", account_views.end_others, name="sessions-end-others"),
    path("account/sessions/<int:pk>/end/", account_views.end_session, name="session-end"),
    path("tokens/", views.token_list, name="tokens"),
    path("tokens/<int:pk>/revoke/", views.token_revoke, name="token-revoke"),
    path("notices/", account_views.notices, name="notices"),
    path("notices/<int:pk>/answer/", account_views.notice_answer, name="notice-answer"),
    path("ask-for-access/", account_views.ask, name="ask-for-access"),
    path("people/", people_views.people, name="people"),
    path("people/invite/", people_views.invite, name="person-invite"),
    path("people/<int:pk>/", people_views.person_page, name="person"),
    path("people/<int:pk>/link/", people_views.new_link, name="person-link"),
    path("people/<int:pk>/sign-out/", people_views.sign_out_person, name="person-sign-out"),
    path("people/groups/", people_views.new_group, name="group-new"),
    path("people/groups/<int:pk>/", people_views.group_page, name="group"),
    path("people/groups/<int:pk>/delete/", people_views.delete_group, name="group-delete"),
    path("sources/<slug:key>/access/", access_views.source_access, name="source-access"),
    path("dashboards/<slug:slug>/access/", access_views.board_access, name="board-access"),
]
