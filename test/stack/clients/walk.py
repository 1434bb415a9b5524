"""README's walk with the generated client: python walk.py BASE_URL ADMIN_TOKEN."""

import json
import sys

from client import AuthenticatedClient, Client
from client.api.auth import get_own_account, login, register
from client.api.grants import create_grant
from client.api.publishing import get_sync_status, run_sync
from client.models import (
    GrantDto,
    GrantDtoPrincipalType0,
    GrantDtoPrincipalType0Type,
    GrantDtoPrivilegesItem,
    GrantDtoResourceType2,
    LoginDto,
    PublishedResponse,
    RegisterDto,
    UsernameTakenProblem,
)

_, base_url, admin_token = sys.argv
anybody = Client(base_url=base_url)
admin = AuthenticatedClient(base_url=base_url, token=admin_token)

registration = RegisterDto(username="ana", email="ana@example.org", password="correct horse battery")
ana = register.sync(client=anybody, body=registration)
tokens = login.sync(client=anybody, body=LoginDto(username="ana", password=registration.password))
me = get_own_account.sync(client=AuthenticatedClient(base_url=base_url, token=tokens.access_token))
user = GrantDtoPrincipalType0(type_=GrantDtoPrincipalType0Type.USER, id=ana.id)
grant = create_grant.sync(
    client=admin,
    body=GrantDto(
        principal=user,
        resource=GrantDtoResourceType2(catalog="tpch", schema="tiny"),
        privileges=[GrantDtoPrivilegesItem.SELECT],
    ),
)
sync = run_sync.sync(client=admin)
status = get_sync_status.sync(client=admin)
again = register.sync(client=anybody, body=registration)

print(
    json.dumps(
        {
            "me": me.username,
            "expires_in": tokens.expires_in,
            "granted": grant.resource.schema,
            "outcome": sync.outcome.value,
            "published": status.published.version if isinstance(status.published, PublishedResponse) else None,
            "again": again.code.value if isinstance(again, UsernameTakenProblem) else None,
        }
    )
)
