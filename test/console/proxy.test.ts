import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { hasNginx, NGINX_MISSING, startNginx } from '../support/nginx.ts';
import { startTestService } from '../support/service.ts';
import { firstBroker, openBroker, openConsole, signIn, signOut } from './page.ts';

const site = (locations: string) => (listen: string) =>
  `
  map $http_upgrade $upgrade_or_not { default upgrade; '' ''; }
  server {
    listen ${listen};
    ${locations}
  }`;

const location = (path: string, port: number) => `
    location ${path} {
      proxy_pass http://127.0.0.1:${port}/;
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $upgrade_or_not;
      proxy_set_header Host $http_host;
    }`;

describe.skipIf(!hasChromium || !hasNginx)(
  hasChromium ? (hasNginx ? 'the console below a path of a proxy' : NGINX_MISSING) : CHROMIUM_MISSING,
  () => {
    test('signs in, shows live data, loads its screens, and opens the explorer', async () => {
      const port = await freePort();
      const proxy = await startNginx(`http://127.0.0.1:${port}`, site(location('/mqtt/', port)));
      const url = `${proxy}/mqtt`;
      const service = await startTestService({
        embeddedBroker: true,
        env: { PORT: String(port), PUBLIC_URL: `${url}/` },
      });
      const { name } = await firstBroker(service);
      const page = await openConsole({ url });
      await signIn(page);
      await page.locator('.state.CONNECTED').waitFor();
      await openBroker(page, name, 'Denied');
      await page.getByText('mosquitto_pub -h 127.0.0.1').waitFor();
      await page.reload();
      await page.getByText('mosquitto_pub -h 127.0.0.1').waitFor();
      await page.getByRole('link', { name: 'GraphiQL' }).click();
      await page.locator('.graphiql-query-editor .CodeMirror').waitFor();
      expect(page.url()).toBe(`${url}/graphql`);
      await page.goto(`${url}/`);
      await signOut(page);
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await page.goto(`${url}/graphql`);
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      expect(page.url()).toBe(`${url}/#/explorer`);
    });

    test('is besides the page of the REST interface, whose forms and links work there as well', async () => {
      const port = await freePort();
      const proxy = await startNginx(`http://127.0.0.1:${port}`, site(location('/mqtt/', port)));
      const url = `${proxy}/mqtt`;
      const service = await startTestService({ env: { PORT: String(port), PUBLIC_URL: `${url}/` } });
      // Chromium requests an icon for a JSON document.
      const page = await openConsole({ url }, { expected: /404/ });
      await page.goto(`${url}/api/docs`);
      await page.getByLabel('Token for').fill(service.root);
      const entry = page.locator('details[id="GET-/api/projects"]');
      await entry.locator('summary').click();
      await entry.getByRole('button').click();
      await entry.getByLabel('Response body').getByText(service.projectId).waitFor();
      await page.getByRole('link', { name: 'OpenAPI' }).click();
      await page.waitForURL(`${url}/api/openapi.json`);
      const { servers } = JSON.parse(String(await page.locator('pre').textContent()));
      expect(new URL(servers[0].url, page.url()).href).toBe(`${url}/`);
    });

    test('has a session of its own, besides that of another service of the host', async () => {
      const ports = [await freePort(), await freePort()] as const;
      const locations = location('/one/', ports[0]) + location('/two/', ports[1]);
      const proxy = await startNginx(`http://127.0.0.1:${ports[0]}`, site(locations));
      const start = (path: string, port: number) =>
        startTestService({ env: { PORT: String(port), PUBLIC_URL: `${proxy}${path}` } });
      await start('/one/', ports[0]);
      await start('/two', ports[1]);
      const page = await openConsole({ url: `${proxy}/one` });
      await signIn(page);
      const other = await page.context().newPage();
      await other.goto(`${proxy}/two/`);
      await signIn(other);
      await page.reload();
      await page.getByRole('heading', { name: 'Fleet' }).waitFor();
      await signOut(page);
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await other.reload();
      await other.getByRole('heading', { name: 'Fleet' }).waitFor();
    });
  },
);
