import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient } from '../support/mosquitto.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { checkScreen, firstBroker, openFleet } from './page.ts';

const DAY_MS = 86_400_000;
const root = createAuthority({ name: 'Plant' });
const soon = root.issue({ name: 'broker', to: new Date(Date.now() + 10 * DAY_MS + DAY_MS / 2) });
const later = root.issue({ name: 'plant-broker', altNames: ['DNS:localhost'] });

async function openCertificates(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 2 }).getByRole('link').click();
  await page.getByRole('link', { name: 'Certificates', exact: true }).click();
}

const dialog = (page: Page) => page.getByRole('dialog');
const rowOf = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) });

async function tlsListener(service: TestService) {
  const { id } = await firstBroker(service);
  const { data } = await service.graphql('query ($id: ID!) { broker(id: $id) { listeners { port hasTls } } }', { id });
  const { port } = data.broker.listeners.find(({ hasTls }: { hasTls: boolean }) => hasTls);
  return { id, port: port as number };
}

/** The fingerprint of the certificate that a listener presents. */
async function presented(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', ca: root.cert, servername: 'localhost' });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

const pemFile = (name: string, text: string) => ({
  name,
  mimeType: 'application/x-pem-file',
  buffer: Buffer.from(text),
});

/** By the menu of a certificate, with the keyboard. */
async function act(page: Page, certificate: string, action: string) {
  await page.getByRole('button', { name: `Actions: ${certificate}` }).press('Enter');
  await page.getByRole('button', { name: action, exact: true }).press('Enter');
}

describe.skipIf(!hasChromium)(hasChromium ? 'the certificates of a project' : CHROMIUM_MISSING, () => {
  test('are uploaded, deployed, replaced before they expire while clients stay connected, undeployed and deleted', async () => {
    const service = await startTestService({ embeddedBroker: true, env: { MQTT_TLS_PORT: '0' } });
    const broker = await firstBroker(service);
    const { port } = await tlsListener(service);
    const page = await openFleet(service);
    await openCertificates(page);
    await page.getByText('openssl req -x509').waitFor();

    await page.getByRole('button', { name: 'Upload certificate' }).press('Enter');
    // A file with both, and a file chooser that is cancelled: the dialog stays.
    const file = dialog(page).locator('input[type=file]');
    await file.setInputFiles(pemFile('broker.pem', `${soon.cert}\n${later.key}`));
    await expect.poll(() => page.getByLabel(/^Private key/).inputValue()).toBe(later.key.trim());
    await expect.poll(() => page.getByLabel(/^Certificate and its chain/).inputValue()).toBe(soon.cert.trim());
    await file.dispatchEvent('cancel', { bubbles: true });
    await expect.poll(() => page.getByLabel(/^File name/).inputValue()).toBe('broker.pem');
    await dialog(page).getByRole('button', { name: 'Upload certificate' }).click();
    await dialog(page).getByRole('alert').getByText('does not belong to the certificate').waitFor();
    await page.getByLabel(/^Private key/).fill(soon.key);
    await page.getByLabel(/^File name/).press('Enter');
    const row = rowOf(page, 'broker.pem');
    await row.getByText('not in use').waitFor();
    await expect.poll(() => row.locator('.soon').textContent()).toBe('10');
    // The project sets from when on.
    const threshold = 'setProblemThresholds(input: { projectId: $id, certificateDays: 5 }) { project { id } }';
    expect(
      (await service.graphql(`mutation ($id: ID!) { ${threshold} }`, { id: service.projectId })).errors,
    ).toBeUndefined();
    await row.locator('.soon').waitFor({ state: 'detached' });

    await act(page, 'broker.pem', 'Deploy');
    await dialog(page).getByText('has no certificate yet').waitFor();
    await dialog(page).getByRole('checkbox').press('Space');
    await dialog(page).getByRole('button', { name: 'Deploy' }).press('Enter');
    await row.getByText(`listener 127.0.0.1:${port}`).waitFor();
    expect(await presented(port)).toBe(soon.fingerprint256);
    await row.locator('summary').click();
    await row.getByText('Clients must know the issuer: CN=Plant').waitFor();
    await checkScreen(page, 'certificates');

    const options = { username: 'admin', password: broker.password, ca: root.cert, clientId: 'dev-1' };
    const client = await startClient(`mqtts://127.0.0.1:${port}`, options);
    await act(page, 'broker.pem', 'Replace');
    // The certificate and its key are in two files.
    await dialog(page)
      .getByLabel(/^Files of the certificate and its private key/)
      .setInputFiles([pemFile('broker-2.pem', later.cert), pemFile('broker-2.key', later.key)]);
    await expect.poll(() => page.getByLabel(/^Private key/).inputValue()).toBe(later.key.trim());
    await expect.poll(() => page.getByLabel(/^File name/).inputValue()).toBe('broker-2.pem');
    // The previous certificate has the name of its file.
    expect(await page.getByLabel(/^Name/).inputValue()).toBe('');
    await page.getByLabel(/^Name/).fill('broker 2');
    await page.getByLabel(/^Certificate and its chain/).fill('broker');
    await dialog(page).getByRole('button', { name: 'Compare' }).click();
    await dialog(page).getByRole('alert').getByText('cert').waitFor();
    await expect.poll(() => dialog(page).getByRole('button', { name: 'Replace' }).isDisabled()).toBe(true);
    await dialog(page).getByRole('button', { name: 'Back' }).click();
    await page.getByLabel(/^Certificate and its chain/).fill(later.cert);
    await dialog(page).getByRole('button', { name: 'Compare' }).click();
    await dialog(page).getByRole('row', { name: 'Subject CN=broker CN=plant-broker' }).waitFor();
    await dialog(page).getByRole('row', { name: 'Names DNS:localhost, IP:127.0.0.1 DNS:localhost' }).waitFor();
    const expiry = dialog(page).getByRole('row', { name: 'Valid until' }).locator('time');
    const dates = await expiry.evaluateAll((times) => times.map((time) => time.getAttribute('datetime')));
    expect(dates).toEqual([soon, later].map(({ leaf }) => new Date(new X509Certificate(leaf).validTo).toISOString()));
    await dialog(page).getByText(`listener 127.0.0.1:${port}`).waitFor();
    await dialog(page).getByText('Connected clients stay connected').waitFor();
    await checkScreen(page, 'certificates-replace');
    await dialog(page).getByRole('button', { name: 'Replace' }).click();
    await rowOf(page, 'broker 2').getByText(`listener 127.0.0.1:${port}`).waitFor();
    await row.getByText('not in use').waitFor();
    const names = await page.getByRole('rowheader').locator('summary').allTextContents();
    expect(names).toEqual(['broker 2', 'broker.pem']);
    expect(await presented(port)).toBe(later.fingerprint256);
    expect(client.connected).toBe(true);

    await act(page, 'broker.pem', 'Delete');
    await dialog(page).getByText('The key cannot be recovered').waitFor();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => row.count()).toBe(0);
    await act(page, 'broker 2', 'Undeploy');
    await dialog(page).getByText('New clients cannot connect').waitFor();
    await dialog(page).getByRole('button', { name: 'Undeploy' }).click();
    await rowOf(page, 'broker 2').getByText('not in use').waitFor();
    await expect(presented(port)).rejects.toThrow();
  });

  test('are shown to a VIEWER without a button that would be refused', async () => {
    const service = await startTestService();
    const input = { projectId: service.projectId, filename: 'plant.pem', cert: root.cert };
    const { errors } = await service.graphql(
      'mutation ($input: CreateCertificateInput!) { createCertificate(input: $input) { certificate { id } } }',
      { input },
    );
    expect(errors).toBeUndefined();
    const { token } = await service.person('VIEWER');
    const page = await openFleet(service, token);
    await openCertificates(page);
    await rowOf(page, 'plant.pem').getByText('authority of clients').waitFor();
    const buttons = await page.getByRole('main').getByRole('button').allTextContents();
    expect(buttons.map((name) => name.trim())).toEqual(['Columns and rows', 'Save as CSV', 'GraphQL', 'curl']);
  });
});
