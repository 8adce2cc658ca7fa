import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { rawClient } from '../data-plane/broker/raw-client.ts';
import { addBroker } from '../domains/access-control/access-service.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient, startMosquitto } from '../support/mosquitto.ts';
import { ROOT, startTestService } from '../support/service.ts';
import { englishCatalogues, translationsOf } from './catalogues.ts';
import { checkNarrow, firstBroker, openConsole } from './page.ts';

/** Texts that a page must not show in a language: keys without a text, and texts that exist only in English. */
async function foreignTexts(language: string): Promise<ReadonlySet<string>> {
  const english = (await englishCatalogues()).map(({ en }) => en);
  const translated = new Set(Object.values(translationsOf(language)).flatMap((texts) => Object.values(texts)));
  // A key such as `name` is also a word.
  const keys = english.flatMap((texts) => Object.keys(texts)).filter((key) => /[a-z][A-Z]/.test(key));
  return new Set(
    [...keys, ...english.flatMap((texts) => Object.values(texts))].filter(
      (text) => !translated.has(text) && !NAMES.has(text),
    ),
  );
}

/** Operations and values in the audit have the names of the graph. */
const NAMES = new Set(['password', 'viewer']);

/** All texts of the page that people see or hear. */
const textsOf = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    // Texts of brokers and of the service are in English, and say so.
    while (walker.nextNode())
      if (walker.currentNode.parentElement.closest('[lang]')?.lang !== 'en') texts.push(walker.currentNode.data.trim());
    for (const element of document.querySelectorAll('[aria-label], [title], [placeholder]'))
      for (const name of ['aria-label', 'title', 'placeholder']) texts.push(element.getAttribute(name) ?? '');
    return texts.filter((text) => text !== '');
  })()`);

/** Addresses of the screens in a menu of the page. */
const screensOf = (page: Page) =>
  page.evaluate<string[]>(`[...document.querySelectorAll('nav.tabs a')].map(({ hash }) => hash)`);

async function openIn(language: string) {
  const service = await startTestService({ embeddedBroker: true });
  const page = await openConsole(service, { locale: language });
  const foreign = await foreignTexts(language);
  const words = translationsOf(language);
  const check = async (name: string, sentences: readonly string[] = []) => {
    await page.locator('main h1, main h2').first().waitFor();
    await expect.poll(() => page.getByText(String(words.common?.loading)).count()).toBe(0);
    const isForeign = (text: string) => foreign.has(text) || sentences.some((sentence) => text.includes(sentence));
    const found = (await textsOf(page)).filter(isForeign);
    expect({ [name]: found }).toEqual({ [name]: [] });
    await checkNarrow(page, name);
  };
  const checkScreens = async (address: string, least: number, sentences: readonly string[] = []) => {
    await page.goto(`${service.url}/${address}`);
    await page.locator('nav.tabs').waitFor();
    const screens = await screensOf(page);
    expect(screens.length).toBeGreaterThanOrEqual(least);
    for (const screen of screens) {
      await page.goto(`${service.url}/${screen}`);
      await check(screen, sentences);
    }
  };
  const signIn = async () => {
    await page.getByLabel(String(words.session?.email)).fill(ROOT.email);
    await page.getByLabel(String(words.session?.password)).fill(ROOT.password);
    await page.getByRole('button', { name: String(words.session?.signIn) }).click();
    await page.getByRole('heading', { name: String(words.common?.fleet) }).waitFor();
  };
  return { service, page, check, checkScreens, signIn };
}

interface Capability {
  readonly provider: string;
  readonly reason: string | null;
  readonly reasonCode: string | null;
}

describe.skipIf(!hasChromium)(hasChromium ? 'the console in other languages' : CHROMIUM_MISSING, () => {
  test('has no English text on the screens of the service and of a project, nor one that is too wide', async () => {
    const { service, page, check, checkScreens, signIn } = await openIn('de');
    await check('sign-in');
    await signIn();
    for (const screen of ['#/', '#/people', '#/account', '#/audit', '#/notifications', '#/nowhere']) {
      await page.goto(`${service.url}/${screen}`);
      await check(screen);
    }
    await checkScreens(`#/projects/${service.projectId}`, 7);
  });

  test('says in Spanish what would help against refusals', async () => {
    const { service, page, check, signIn } = await openIn('es');
    const { id, url, password } = await firstBroker(service);
    const { port } = new URL(url);
    const refused = rawClient(Number(port), { clientId: 'dev-17', username: 'nobody', password: Buffer.from('wrong') });
    await refused.catch(() => {});
    const admin = await startClient(url, { username: 'admin', password, protocolVersion: 5 });
    await admin.publishAsync('$SYS/mine', 'x', { qos: 1 }).catch(() => undefined);
    const { data } = await service.graphql(
      'query ($id: ID!) { broker(id: $id) { refusals { nodes { whatWouldHelp } } } }',
      {
        id,
      },
    );
    const english: string[] = data.broker.refusals.nodes.map(
      ({ whatWouldHelp }: { whatWouldHelp: string }) => whatWouldHelp,
    );
    expect(english).toHaveLength(2);
    await signIn();
    await page.goto(`${service.url}/#/brokers/${id}/refusals`);
    await page.getByText('Cree la cuenta «nobody»').waitFor();
    await check('refusals', english);
  });

  test('says in German what would help a broker that lacks capabilities', async () => {
    const { service, page, check, checkScreens, signIn } = await openIn('de');
    const id = await addBroker(service, (await startMosquitto()).url);
    const { data } = await service.graphql(
      'query ($id: ID!) { broker(id: $id) { capabilities { api provider reason reasonCode } } }',
      { id },
    );
    const { capabilities } = data.broker as { readonly capabilities: readonly Capability[] };
    const english = capabilities.flatMap(({ reason }) => reason ?? []);
    expect(english.length).toBeGreaterThan(5);
    expect(capabilities.filter(({ provider, reasonCode }) => provider === 'NONE' && reasonCode === null)).toEqual([]);
    await signIn();
    await page.goto(`${service.url}/#/brokers/${id}`);
    await page.getByText('Der Broker hat keine Dynamic Security').waitFor();
    await check('capabilities');
    await page.goto(`${service.url}/#/brokers/${id}/refusals`);
    await page.getByText('Der Broker veröffentlicht sein Protokoll nicht über MQTT').waitFor();
    await checkScreens(`#/brokers/${id}`, 9, english);
  });

  test('has no English text on the fleet and the screens of a broker in French, nor one that is too wide', async () => {
    const { service, check, checkScreens, signIn } = await openIn('fr');
    await check('sign-in');
    await signIn();
    await check('fleet');
    await checkScreens(`#/brokers/${(await firstBroker(service)).id}`, 9);
  });
});
