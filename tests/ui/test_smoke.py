from core.accounts import Role
from tests.ui.conftest import RunningServer


def test_smoke(server: RunningServer) -> None:
    mei = server.account("Mei", Role.SALESPERSON)
    client = server.client(mei)
    response = client.get("/practice/", headers={"accept": "text/html"})
    assert response.status_code == 200, response.text
    print(response.headers)
    print(server.client().get("/sign-in").text)
