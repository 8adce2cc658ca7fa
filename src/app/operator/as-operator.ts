import type { RequestContext, Services } from '../../gateway/context.ts';
import { compileOperation } from '../../gateway/graphql/internal-operation.ts';
import type { Viewer } from '../../platform/auth/viewer.ts';
import type { Database } from '../../platform/storage/database.ts';
import { schema } from '../schema.ts';
import type { RunOperation } from './operator-socket.ts';

/** Sufficient for the largest request of the operator's socket, see `openOperatorSocket`. */
const MAX_VARIABLE_ENTRIES = 8_000_000;

const OPERATOR: Viewer = {
  kind: 'OPERATOR',
  id: 'operator',
  name: 'operator',
  credentialId: 'operator',
  expiresAt: Number.POSITIVE_INFINITY,
  isRootAdmin: true,
  projectRoles: new Map(),
  brokers: null,
};

/** Runs operations on the graph as the operator, who needs no credentials. */
export function asOperator(db: Database, services: Services): RunOperation {
  const context: RequestContext = {
    viewer: OPERATOR,
    requestId: 'operator',
    address: 'operator',
    via: 'OPERATOR',
    db,
    services,
  };
  return async (document, variables) =>
    compileOperation(schema, document, { maxVariableEntries: MAX_VARIABLE_ENTRIES }).execute(context, variables);
}
