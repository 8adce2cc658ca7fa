import type { RequiredRole } from '../auth/viewer.ts';
import type { Revision } from './revisions.ts';
import type { PendingRoute, RouteMethod } from './route.ts';

const PROJECT = '/api/projects/{projectId}';

type Row = readonly [method: RouteMethod, path: string, role: RequiredRole, summary: string];

const section = (number: string, tag: string, since: Revision, rows: readonly Row[]): PendingRoute[] =>
  rows.map(([method, path, role, summary]) => ({
    method,
    path,
    role,
    section: number,
    summary,
    tags: [tag],
    pending: true,
    ...(since === '3.0' ? {} : { since }),
  }));

/** What the interface documents and this service does not serve yet. An entry leaves when its domain's routes take it over. */
export const pendingRoutes: readonly PendingRoute[] = [
  ...section('4.10', 'Tokens', '3.1', [
    ['GET', `${PROJECT}/tokens`, 'VIEWER', 'List the tokens of a project'],
    ['POST', `${PROJECT}/tokens`, 'ADMIN', 'Create a token'],
    ['DELETE', `${PROJECT}/tokens/{tokenId}`, 'ADMIN', 'Delete a token'],
  ]),
  ...section('4.11', 'Users', '3.3', [
    ['GET', '/api/users/admins', 'ROOT_ADMIN', 'List the root administrators'],
    ['PUT', '/api/users/admins', 'ROOT_ADMIN', 'Make a user root administrator'],
    ['DELETE', '/api/users/admins', 'ROOT_ADMIN', 'Take root administration from a user'],
    ['GET', '/api/users', 'ROOT_ADMIN', 'List the users'],
    ['POST', '/api/users', 'ROOT_ADMIN', 'Create a user'],
    ['GET', '/api/users/{userId}', 'ROOT_ADMIN', 'Read a user'],
    ['DELETE', '/api/users/{userId}', 'ROOT_ADMIN', 'Delete a user'],
  ]),
];
