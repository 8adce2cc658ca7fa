import type { AccessChange } from '../../access-control/writing/access-change.ts';
import type { NodeDifference } from '../model/cluster-status.ts';

/** Returns the objects that the changes affect, each once. */
export function differencesOf(changes: readonly AccessChange[]): NodeDifference[] {
  const found = new Map<string, NodeDifference>();
  for (const change of changes) {
    const difference = differenceOf(change);
    found.set(`${difference.kind}/${difference.name}`, difference);
  }
  return [...found.values()];
}

function differenceOf(change: AccessChange): NodeDifference {
  switch (change.kind) {
    case 'SET_DEFAULT_ACL':
      return { kind: 'DEFAULT_ACL', name: '' };
    case 'SET_ANONYMOUS_GROUP':
      return { kind: 'ANONYMOUS_GROUP', name: '' };
    case 'PUT_ROLE':
    case 'DELETE_ROLE':
    case 'PUT_ROLE_ACL':
    case 'REMOVE_ROLE_ACL':
      return { kind: 'ROLE', name: change.rolename };
    case 'PUT_GROUP':
    case 'DELETE_GROUP':
    case 'ADD_GROUP_ROLE':
    case 'REMOVE_GROUP_ROLE':
      return { kind: 'GROUP', name: change.groupname };
    default:
      return { kind: 'CLIENT', name: change.username };
  }
}
