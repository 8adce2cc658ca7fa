import { execFileSync } from 'node:child_process';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { type ClusterWorldNode, clusterWorld, startNodes } from '../domains/clusters/cluster-world.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { ADMIN } from '../support/mosquitto.ts';
import { startTestService } from '../support/service.ts';
import { checkScreen, openActions, openFleet } from './page.ts';

async function openClusters(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 2 }).getByRole('link').click();
  await page.getByRole('link', { name: 'Clusters', exact: true }).click();
}

const dialog = (page: Page) => page.getByRole('dialog');
const node = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });

/** Another client of the broker changes its access control. */
const control = ({ broker: { port } }: ClusterWorldNode, ...command: readonly string[]) =>
  execFileSync(
    'mosquitto_ctrl',
    ['-h', '127.0.0.1', '-p', String(port), '-u', ADMIN.username, '-P', ADMIN.password, 'dynsec', ...command],
    { stdio: 'ignore' },
  );
const rolesOn = ({ broker }: ClusterWorldNode): string[] =>
  JSON.parse(broker.readAccessFile()).roles.map(({ rolename }: { readonly rolename: string }) => rolename);

describe.skipIf(!hasChromium)(hasChromium ? 'the clusters of a project' : CHROMIUM_MISSING, () => {
  test('are created, show drift at once, and are repaired; nodes leave and join; and clusters are deleted', async () => {
    const service = await startTestService();
    const nodes = await startNodes(service, 3);
    const second = nodes[1] as ClusterWorldNode;
    control(second, 'createRole', 'own');
    const page = await openFleet(service);
    await openClusters(page);
    await page.getByText('The project has no clusters').waitFor();
    await page.getByRole('button', { name: 'Create cluster' }).press('Enter');
    await dialog(page).waitFor();
    await page.keyboard.type('plant');
    await page.getByLabel('m1').check();
    await page.getByLabel('m2').check();
    await page.getByLabel('m3').check();
    await dialog(page).getByText('rules of m2, m3 are deleted and replaced by those of m1').waitFor();
    await page.getByLabel('Name').press('Enter');
    await node(page, '2: m2').getByText('equal').waitFor();
    await expect.poll(() => rolesOn(second)).not.toContain('own');

    control(second, 'createRole', 'foreign');
    const drifted = page.getByRole('row').filter({ hasText: 'drifted' });
    await drifted.getByText('differences: 1').click();
    await drifted.getByText('Role foreign').waitFor();
    await checkScreen(page, 'clusters');
    await openActions(page, 'm2');
    await page.getByRole('button', { name: 'Repair m2' }).press('Enter');
    await dialog(page).getByText('What another program changed there is undone').waitFor();
    await dialog(page).getByRole('button', { name: 'Repair' }).press('Enter');
    await expect.poll(() => drifted.count()).toBe(0);
    await expect.poll(() => rolesOn(second)).not.toContain('foreign');

    await page.getByRole('button', { name: 'Automatic repair' }).click();
    await dialog(page).getByText('are then undone at once').waitFor();
    await dialog(page).getByRole('button', { name: 'Turn on' }).click();
    await page.locator('button[aria-pressed=true]').waitFor();

    await openActions(page, 'm2');
    await page.getByRole('button', { name: 'Leave the cluster: m2' }).click();
    await dialog(page).getByText('2 nodes remain').waitFor();
    await dialog(page).getByRole('button', { name: 'Leave' }).click();
    await expect.poll(() => node(page, '2: m2').count()).toBe(0);
    await page.getByRole('button', { name: 'Add a broker' }).click();
    await dialog(page).getByText('rules of m2 are deleted and replaced by those of plant').waitFor();
    await dialog(page).getByRole('button', { name: 'Add a broker' }).click();
    await page.getByRole('row').filter({ hasText: 'm2' }).getByText('equal').waitFor();

    await page.getByRole('button', { name: 'Delete cluster' }).click();
    await dialog(page).getByText('become independent brokers').waitFor();
    await dialog(page).getByRole('button', { name: 'Delete cluster' }).click();
    await page.getByText('The project has no clusters').waitFor();
    expect(await service.storage.db.cluster.count()).toBe(0);
  });

  test('show a VIEWER a node that stops within a second, and no button that would be refused', async () => {
    const { service, nodes } = await clusterWorld(2);
    const { token } = await service.person('VIEWER');
    const page = await openFleet(service, token);
    await openClusters(page);
    await node(page, '2: node 2').getByText('equal').waitFor();
    const buttons = await page.getByRole('main').getByRole('button').allTextContents();
    expect(buttons).toEqual(['Save as CSV', 'GraphQL', 'curl']);
    await nodes[1]?.broker.kill();
    await node(page, '2: node 2').getByText('unreachable', { exact: true }).waitFor();
    await page.getByText('works with errors').waitFor();
  });
});
