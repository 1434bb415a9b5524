"""Signs in the requests of a run with the role of that run; without a token URL, requests have no session."""

import os

import requests
import schemathesis

TOKEN_URL = os.environ.get("GRANTLINE_FUZZ_TOKEN_URL")
"""Answers every POST with the access token of a new account."""

REVOKING_CODES = os.environ.get("GRANTLINE_FUZZ_REVOKING_CODES", "").split()
"""Error codes after which the token is unusable: an earlier request ended its session, or changed its role or password."""


class Account:
    token = None

    def get(self, case, context):
        if Account.token is None:
            answer = requests.post(TOKEN_URL, timeout=60)
            answer.raise_for_status()
            Account.token = answer.text
        return Account.token

    def set(self, case, token, context):
        case.headers = case.headers or {}
        case.headers["Authorization"] = f"Bearer {token}"


if TOKEN_URL is not None:
    schemathesis.auth(refresh_interval=None)(Account)


@schemathesis.hook
def after_call(context, case, response):
    if any(f'"{code}"' in response.text for code in REVOKING_CODES):
        Account.token = None
