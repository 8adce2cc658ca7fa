import { type RequiredRole, requirePerson, requireRootAdmin, requireSignedIn } from '../../platform/auth/viewer.ts';
import { notFound } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';

/** Checks the role of a route before the input is read, for the order of errors: 401, 404, 403, 400. */
export function authorizeRoute(
  { viewer, services }: RequestContext,
  role: RequiredRole,
  { projectId, brokerId }: Readonly<Record<string, string>>,
): void {
  if (role === 'PUBLIC') return;
  if (role === 'SIGNED_IN') requireSignedIn(viewer);
  else if (role === 'PERSON') requirePerson(viewer);
  else if (role === 'ROOT_ADMIN') requireRootAdmin(viewer);
  else {
    services.projects.visible(projectId ?? '', viewer, role);
    if (brokerId !== undefined) {
      // A broker exists only in its own project, even if the caller may see it in another one.
      if (services.brokers.visible(brokerId, viewer, role).projectId !== projectId) throw notFound('broker', brokerId);
    }
  }
}
