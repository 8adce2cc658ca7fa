import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { apiRoutes } from '../../src/app/api-routes.ts';
import { REVISIONS, type Revision } from '../../src/gateway/rest/revisions.ts';
import type { JsonSchema } from '../../src/gateway/rest/route.ts';
import { startTestService } from '../support/service.ts';

interface DocumentedOperation {
  readonly method: string;
  readonly path: string;
  readonly section: string;
}

const documented: readonly DocumentedOperation[] = JSON.parse(
  readFileSync(new URL('./operations.json', import.meta.url), 'utf8'),
);

/** First revision of the operations of a section, as in decision 0029. Default: all revisions. */
const SINCE: Readonly<Record<string, Revision>> = {
  '4.1': '3.1',
  '4.3': '3.3',
  '4.6': '3.3',
  '4.7': '3.3',
  '4.8': '3.3',
  '4.10': '3.1',
  '4.11': '3.3',
};

const sinceOf = ({ path, section }: DocumentedOperation): Revision =>
  path.includes('/bridges') ? '3.3' : (SINCE[section] ?? '3.0');

test.each(REVISIONS)('revision %s has its operations, and 404 for later ones', async (revision) => {
  const service = await startTestService();
  const headers = { accept: `application/json;version=${revision}` };
  for (const operation of documented) {
    const path = operation.path.replaceAll(/\{\w+\}/g, 'none');
    const { status, body } = await service.rest(operation.method, path, null, undefined, headers);
    // Credentials are checked if the path exists.
    const exists = REVISIONS.indexOf(revision) >= REVISIONS.indexOf(sinceOf(operation));
    expect([status, body.code], `${operation.method} ${path}`).toEqual(
      exists ? [401, 'UNAUTHORIZED'] : [404, 'NOT_FOUND'],
    );
  }
});

const isList = ({ type, oneOf = [] }: JsonSchema): boolean =>
  type === 'array' || ((oneOf as JsonSchema[]).length > 0 && (oneOf as JsonSchema[]).every(isList));

test('every list has X-Total-Count', async () => {
  for (const { method, path, response = {}, total } of apiRoutes) {
    if (method === 'GET' && isList(response)) expect(total, path).toBeDefined();
  }
  const service = await startTestService({ embeddedBroker: true });
  const broker = await service.storage.db.broker.findFirstOrThrow();
  const project = `/api/projects/${service.projectId}`;
  for (const path of [`/brokers/${broker.id}/bridges`, `/brokers/${broker.id}/listeners`, '/clusters/status']) {
    const { headers, body } = await service.rest('GET', `${project}${path}`);
    expect(headers.get('x-total-count'), path).toBe(String(body.length));
  }
  const bridges = await service.rest('GET', `${project}/brokers/${broker.id}/bridges`);
  expect(bridges.headers.get('x-total-count')).toBe('3');
});
