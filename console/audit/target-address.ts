import { accessAddress } from '../access/addresses.ts';
import { clientPath } from '../clients/client-address.ts';
import type { Entry } from './audit-entry.ts';

/** The address of the screen that shows the target of an entry. `null` if there is none, or the target was deleted. */
export function targetAddress(entry: Entry, isRootAdmin: boolean): string | null {
  const { operation, result, targetKind, targetId, targetName: name, project, broker } = entry;
  if (/^(?:delete|revoke)/.test(operation) && result === 'DONE') return null;
  if (targetKind === 'user') return isRootAdmin && targetId !== null ? `/people/${targetId}` : null;
  return (broker && ofBroker(targetKind, broker.id, name)) ?? (project && ofProject(targetKind, project.id));
}

function ofBroker(kind: string | null, id: string, name: string | null): string | null {
  switch (kind) {
    case 'account':
      return accessAddress(id, 'accounts', { name });
    case 'accessGroup':
      return accessAddress(id, 'groups', { name });
    case 'accessRole':
      return accessAddress(id, 'roles', { name });
    case 'accessControl':
      return accessAddress(id, 'accounts');
    case 'connectedClient':
      return name === null ? null : clientPath(id, name);
    case 'bridge':
      return `/brokers/${id}/bridges`;
    case 'stream':
      return `/brokers/${id}/streams`;
    case 'topicTree':
      return `/brokers/${id}/topics`;
    case 'message':
      return `/brokers/${id}/messages`;
    case 'broker':
      return `/brokers/${id}`;
    default:
      return null;
  }
}

function ofProject(kind: string | null, id: string): string | null {
  switch (kind) {
    case 'project':
      return `/projects/${id}`;
    case 'token':
      return `/projects/${id}/tokens`;
    case 'signInRule':
      return `/projects/${id}/rules`;
    case 'certificate':
      return `/projects/${id}/certificates`;
    case 'cluster':
      return `/projects/${id}/clusters`;
    default:
      return null;
  }
}
