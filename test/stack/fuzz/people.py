"""Signs the requests of a run in, as somebody of the role that the run has; without a door, as nobody."""

import os

import requests
import schemathesis

DOOR = os.environ.get("GRANTLINE_FUZZ_DOOR")
"""Answers every POST with the access token of somebody new."""

SPENT = os.environ.get("GRANTLINE_FUZZ_SPENT", "").split()
"""Codes that say: this one has been signed out, demoted or given a one-time password by an earlier request."""


class Somebody:
    token = None

    def get(self, case, context):
        if Somebody.token is None:
            answer = requests.post(DOOR, timeout=60)
            answer.raise_for_status()
            Somebody.token = answer.text
        return Somebody.token

    def set(self, case, token, context):
        case.headers = case.headers or {}
        case.headers["Authorization"] = f"Bearer {token}"


if DOOR is not None:
    schemathesis.auth(refresh_interval=None)(Somebody)


@schemathesis.hook
def after_call(context, case, response):
    if any(f'"{code}"' in response.text for code in SPENT):
        Somebody.token = None
