/** A browser during a sign-in: cookies, redirects, and the provider's forms. */
export class WebVisitor {
  readonly #cookies = new Map<string, string>();

  /** One request; redirects are not followed. */
  async visit(url: string, form?: Readonly<Record<string, string>>): Promise<Response> {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = cookie.split(';').map((part) => part.trim());
      const [name = '', value = ''] = pair.split('=');
      const isOver = value === '' || attributes.some((part) => /^(max-age=0|expires=thu, 01 jan 1970)/i.test(part));
      if (isOver) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return response;
  }

  /** Follows the sign-in through the provider's forms to the address of the callback, which is not requested. */
  async signInAt(begin: string, login: string): Promise<string> {
    let address = begin;
    for (let step = 0; step < 20; step += 1) {
      const response = await this.visit(address);
      const location = response.headers.get('location');
      if (location === null) address = await this.#answer(address, await response.text(), login);
      else address = new URL(location, address).href;
      if (new URL(address).pathname.endsWith('/auth/oidc/callback')) return address;
    }
    throw new Error(`The provider leads nowhere: ${address}`);
  }

  /** The whole way; where the service sends the browser in the end. */
  async signIn(begin: string, login: string): Promise<URL> {
    const callback = await this.signInAt(begin, login);
    const response = await this.visit(callback);
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${response.status}: ${await response.text()}`);
    return new URL(location);
  }

  async #answer(page: string, html: string, login: string): Promise<string> {
    const action = /<form[^>]* action="([^"]+)"/.exec(html)?.[1];
    if (action === undefined) throw new Error(`No form at ${page}: ${html.slice(0, 500)}`);
    const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1] ?? '';
    const filled = prompt === 'login' ? { prompt, login, password: 'any' } : { prompt };
    const response = await this.visit(new URL(action, page).href, filled);
    return new URL(response.headers.get('location') ?? '', page).href;
  }
}
