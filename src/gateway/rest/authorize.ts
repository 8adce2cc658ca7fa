import { type RequiredRole, requirePerson, requireRootAdmin, requireSignedIn } from '../../platform/auth/viewer.ts';
import { notFound } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';

/**
 * What an entry asks of its caller, before anything of the input is read. The operation's own fields check again; this one makes the
 * order of answers right (401, then 404 for what is out of sight, then 403, then 400) and covers entries without an operation.
 */
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
      // A broker is found in its own project only, whatever else the caller may see.
      if (services.brokers.visible(brokerId, viewer, role).projectId !== projectId) throw notFound('broker', brokerId);
    }
  }
}
