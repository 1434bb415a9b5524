/** Somebody's browser at the provider: it keeps the provider's cookies, as a real one does, and fills in the form. */
export class KeycloakPage {
  private readonly cookies = new Map<string, string>();

  constructor(private readonly password: string) {}

  /**
   * Signs in at the address that a service sent the browser to.
   * @returns what the browser brings back to the service; or the provider's page, where nobody is sent back
   */
  async signIn(location: string, username: string): Promise<URLSearchParams | string> {
    const first = await this.ask(location);
    const action = /id="kc-form-login"[^>]* action="([^"]+)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&');
    if (action === undefined) return first.back ?? first.text;
    const { back, text } = await this.ask(action, new URLSearchParams({ username, password: this.password }));
    return back ?? text;
  }

  /** Goes to where somebody signs out. */
  async visit(location: string): Promise<void> {
    await this.ask(location);
  }

  private async ask(url: string, form?: URLSearchParams): Promise<{ back: URLSearchParams | null; text: string }> {
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { Cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form !== undefined && { method: 'POST', body: form }),
    });
    for (const cookie of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = cookie.slice(0, cookie.indexOf(';')).split(/=(.*)/s);
      this.cookies.set(name, value);
    }
    const location = answer.headers.get('location');
    return { back: location === null ? null : new URL(location).searchParams, text: await answer.text() };
  }
}
