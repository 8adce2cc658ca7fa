import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { passwordFile } from '../../src/engines/cloud-brokers/cloud-brokers.ts';
import { openPage } from '../support/chromium.ts';
import { ROOT, type TestService } from '../support/service.ts';

interface ConsoleOptions {
  readonly locale?: string;
  /** Token of the session that the browser has. Default: none. */
  readonly token?: string;
  /** URL of the OpenID provider. */
  readonly provider?: string;
  /** Errors that the browser logs in this test, for example because the service stops. Default: none. */
  readonly expected?: RegExp;
}

/**
 * Opens the console in a real browser. After the test, nothing may have been logged as an error, requested from another
 * host, or refused by the Content Security Policy.
 */
export async function openConsole(
  { url }: Pick<TestService, 'url'>,
  { locale = 'en-GB', token, provider, expected }: ConsoleOptions = {},
): Promise<Page> {
  const page = await openPage(locale);
  if (token !== undefined) await page.context().addCookies([{ name: 'brokergraph-session', value: token, url }]);
  const problems: string[] = [];
  /** The pages of the OpenID provider are not those of the console. */
  const record = (problem: string) => {
    if (provider === undefined || !page.url().startsWith(provider)) problems.push(problem);
  };
  page.on('pageerror', (error) => record(error.message));
  page.on('console', (message) => {
    // A refused sign-in is a response with status 401, which Chromium logs.
    const isExpected =
      /the server responded with a status of 40[01]/.test(message.text()) || expected?.test(message.text());
    if (message.type() === 'error' && !isExpected) record(message.text());
  });
  page.on('request', (request) => {
    const isNavigation = request.isNavigationRequest() && request.url().startsWith(provider ?? url);
    if (!isNavigation && ![url, 'data:'].some((start) => request.url().startsWith(start))) record(request.url());
  });
  onTestFinished(() => expect(problems).toEqual([]));
  await page.goto(`${url}/`);
  return page;
}

/** The fleet with a session, without the form of the sign-in. Default: a session of the root administrator. */
export async function openFleet(service: Pick<TestService, 'url' | 'root'>, token = service.root): Promise<Page> {
  const page = await openConsole(service, { token });
  await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  return page;
}

export async function signIn(page: Page, { email, password }: { email: string; password: string } = ROOT) {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Fleet' }).waitFor();
}

export const openUserMenu = (page: Page) => page.locator('[popovertarget=user-menu]').click();

export async function signOut(page: Page): Promise<void> {
  await openUserMenu(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
}

/** Opens the menu with the actions of a row. Without a name: of the only one. */
export const openActions = (within: Page | Locator, name?: string) =>
  within.getByRole('button', { name: name === undefined ? /^Actions: / : `Actions: ${name}`, exact: true }).click();

/** The address of the embedded broker, and the password of its account `admin`. */
export async function firstBroker(service: TestService) {
  const { id, name, url } = await service.storage.db.broker.findFirstOrThrow();
  return { id, name, url: url ?? '', password: readFileSync(passwordFile(service.config.dataDir, id), 'utf8').trim() };
}

/** Adds the broker `plant`, and returns its id. */
export async function addBroker({ graphql, projectId }: TestService, url: string, more: object = {}): Promise<string> {
  const { data, errors } = await graphql(
    'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }',
    { input: { projectId, name: 'plant', url, ...more } },
  );
  expect(errors).toBeUndefined();
  return data.addBroker.broker.id;
}

export async function makeStrict({ graphql, projectId }: TestService): Promise<void> {
  const update = 'mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { id } } }';
  expect((await graphql(update, { input: { projectId, hasStrictRoles: true } })).errors).toBeUndefined();
}

interface Query {
  readonly name: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The operations that a page sends from now on, with their names. */
export function queriesOf(page: Page): readonly Query[] {
  const queries: Query[] = [];
  page.on('request', (request) => {
    const body = request.url().endsWith('/graphql') ? request.postData() : null;
    if (body === null) return;
    const { query, variables } = JSON.parse(body);
    queries.push({ name: /^\s*(?:query|mutation) (\w+)/.exec(query)?.[1] ?? '', variables });
  });
  return queries;
}

/** From the fleet to a screen of a broker. Default: its first one. */
export async function openBroker(page: Page, name: string, screen?: string): Promise<void> {
  await page.getByRole('rowheader', { name }).getByRole('link').click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
  const screens = page.getByRole('navigation', { name: 'Screens of the broker' });
  if (screen !== undefined) await screens.getByRole('link', { name: screen }).click();
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Only violations are collected: selectors of all that is right would take most of the time. */
const RESULTS = { resultTypes: ['violations'] };
const ALL_RULES = {
  ...RESULTS,
  runOnly: {
    type: 'tag',
    values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  },
};
const RULES_OF_COLOURS = { ...RESULTS, runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } };
const OTHER_RULES = { ...ALL_RULES, rules: { 'color-contrast': { enabled: false } } };
const EXTENT = `{
  width: document.documentElement.scrollWidth,
  wide: [...document.querySelectorAll('body *')]
    .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map((one) => one.tagName + '.' + one.className + ' ' + Math.round(one.getBoundingClientRect().right)),
}`;
const checkOf = (rules: object) => `axe.run(${JSON.stringify(rules)})
  .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`;
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 360, height: 740 };
const IN_NARROW = { look: 'narrow', colorScheme: 'light', size: NARROW, rules: ALL_RULES } as const;
const LOOKS = [
  { look: 'light', colorScheme: 'light', size: WIDE, rules: ALL_RULES },
  // The same elements in other colours.
  { look: 'dark', colorScheme: 'dark', size: WIDE, rules: RULES_OF_COLOURS },
  IN_NARROW,
] as const;
/** Other widths, which have the colours and elements of the others. */
const OTHER_WIDTHS = [768, 1024, 1440, 2560];
type Look = Omit<(typeof LOOKS)[number], 'rules'> & { readonly rules: object };

/**
 * Checks the screen that is shown in light, dark and on a narrow display: the rules of axe, and that the page does not
 * scroll sideways, also at other widths. With SCREENSHOTS it also saves a picture of each look to docs/console.
 */
export async function checkScreen(page: Page, name: string): Promise<void> {
  for (const look of LOOKS) {
    await checkLook(page, name, look);
    if (process.env.SCREENSHOTS === undefined) continue;
    const folder = join(import.meta.dirname, '../../docs/console');
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${name}-${look.look}.png`) });
  }
  for (const width of OTHER_WIDTHS) {
    await page.setViewportSize({ ...WIDE, width });
    await expectWithin(page, name, width);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(WIDE);
}

/** The same on a narrow display only, which remains, in another language: its colours are the same. */
export const checkNarrow = (page: Page, name: string): Promise<void> =>
  checkLook(page, name, { ...IN_NARROW, rules: OTHER_RULES });

async function checkLook(page: Page, name: string, { look, colorScheme, size, rules }: Look): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(size);
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE);
  expect(await page.evaluate(checkOf(rules)), `${name}, ${look}`).toEqual([]);
  await expectWithin(page, `${name}, ${look}`, size.width);
}

interface Extent {
  readonly width: number;
  /** What is beyond the right edge. */
  readonly wide: readonly string[];
}

/** Charts take their new width in the frame after a resize. */
async function expectWithin(page: Page, name: string, available: number): Promise<void> {
  const beyond = async () => {
    const { width, wide } = (await page.evaluate(`(${EXTENT})`)) as Extent;
    return width <= available ? '' : `${width} px: ${wide.join(', ')}`;
  };
  await expect.poll(beyond, { message: `${name}, ${available} px` }).toBe('');
}
