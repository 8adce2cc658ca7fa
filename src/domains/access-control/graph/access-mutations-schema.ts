import { builder, writesAccessControl } from '../../../gateway/graphql/builder.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { ofBroker, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { mayControl } from '../../../platform/auth/viewer.ts';
import { ServiceError, withPlaces } from '../../../platform/errors.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { AccessChange } from '../writing/access-change.ts';
import type { BlastRadius, ChangeReport, NodeReport } from '../writing/access-report.ts';
import type { InputFields } from './access-change-inputs.ts';
import {
  ACCOUNT_MUTATIONS,
  type AccessMutation,
  type AccessMutations,
  DEFAULT_ACL_MUTATIONS,
  GROUP_MUTATIONS,
  ROLE_MUTATIONS,
} from './access-mutations.ts';
import { AccessGroup, AccessRole, Account, BROKER_ID, DefaultAcl } from './access-objects-schema.ts';
import { reportFields } from './access-report-schema.ts';
import type { AccessView } from './access-view.ts';

interface Written extends ChangeReport {
  readonly broker: BrokerRecord;
  readonly change: AccessChange;
  readonly blastRadius: BlastRadius;
  readonly nodes?: readonly NodeReport[] | undefined;
}

export const DRY_RUN =
  'Returns the commands and the clients that they would disconnect, but sends no command to the broker.';

type ObjectRef<T> = PothosSchemaTypes.ObjectRef<(typeof builder)['$inferSchemaTypes'], T>;

const payload = <T extends object>(
  name: string,
  field: string,
  noun: string,
  type: ObjectRef<T>,
  find: (view: AccessView, change: AccessChange) => T | null,
) =>
  builder.objectRef<Written>(name).implement({
    ...withBroker,
    description: `The outcome of a change, and ${noun} after the change.`,
    fields: (t) => ({
      [field]: t.field({
        description: 'The current object of the broker. null: it does not exist.',
        type: type as ObjectRef<object>,
        nullable: true,
        resolve: async ({ broker, change }, _args, { services }): Promise<object | null> =>
          find(await services.accessControl.view(broker), change),
      }),
      ...reportFields(t),
    }),
  });

const AccountPayload = payload('AccountPayload', 'account', 'the account', Account, (view, change) =>
  'username' in change ? view.account(change.username) : null,
);
const AccessGroupPayload = payload('AccessGroupPayload', 'group', 'the group', AccessGroup, (view, change) =>
  'groupName' in change ? view.group(change.groupName) : null,
);
const AccessRolePayload = payload('AccessRolePayload', 'role', 'the role', AccessRole, (view, change) =>
  'roleName' in change ? view.role(change.roleName) : null,
);
const DefaultAclPayload = payload('DefaultAclPayload', 'defaultAcl', 'the default ACL', DefaultAcl, (view) => view);

interface NamedMutation {
  readonly name: string;
  readonly mutation: AccessMutation;
  readonly payload: typeof AccountPayload;
}

const named = (mutations: AccessMutations, type: typeof AccountPayload) =>
  Object.entries(mutations).map(([name, mutation]): NamedMutation => ({ name, mutation, payload: type }));

/** All kinds of changes. Each one is a mutation and a key in `changeAccessControl`. */
export const MUTATIONS: readonly NamedMutation[] = [
  ...named(ACCOUNT_MUTATIONS, AccountPayload),
  ...named(GROUP_MUTATIONS, AccessGroupPayload),
  ...named(ROLE_MUTATIONS, AccessRolePayload),
  ...named(DEFAULT_ACL_MUTATIONS, DefaultAclPayload),
];

export const capitalized = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

export const target = (t: InputFields) => ({
  brokerId: t.id(BROKER_ID),
  projectId: t.id({ description: 'If given, the broker must be in this project.' }),
});

for (const { name, mutation, payload: type } of MUTATIONS) {
  const input = builder.inputType(`${capitalized(name)}Input`, {
    description: `Input of \`${name}\`: the broker, the change, and how the change is executed.`,
    fields: (t) => ({
      ...target(t),
      ...mutation.fields(t),
      dryRun: t.boolean({ defaultValue: false, description: DRY_RUN }),
      mustApply: t.boolean({
        defaultValue: false,
        description: 'Whether PARTLY_APPLIED and UNKNOWN are returned as errors, with the commands in `info`.',
      }),
    }),
  });
  builder.mutationField(name, (t) =>
    t.field({
      description: mutation.description,
      type,
      ...writesAccessControl,
      args: { input: t.arg({ description: 'The broker and the change.', type: input, required: true }) },
      resolve: async (_root, args, { services, viewer }): Promise<Written> => {
        const { brokerId, dryRun, mustApply } = args.input;
        const broker = services.brokers.visible(brokerId, viewer);
        const change = mutation.change(args.input, 'input');
        const report = await services.accessControl.write(
          broker,
          { changes: [change], mayControl: mayControl(viewer, broker) },
          dryRun ?? false,
        );
        const [result] = report.changes;
        if (result === undefined) throw new Error('A change was written without a report');
        if (result.outcome === 'REJECTED') {
          if (result.error === null) throw new Error('A change was rejected without a reason');
          throw withPlaces(result.error, (path) => `input.${path}`);
        }
        if (mustApply) throwUnlessApplied(result);
        return { ...result, broker, change, blastRadius: report.blastRadius, nodes: report.nodes };
      },
    }),
  );
}

function throwUnlessApplied({ outcome, commands, error }: ChangeReport): void {
  if (outcome !== 'PARTLY_APPLIED' && outcome !== 'UNKNOWN') return;
  const info = {
    outcome,
    commands: commands.map(({ command, fields, state, error: reason }) => ({
      command,
      fields,
      state,
      ...(reason === null ? {} : { error: { code: reason.code, message: reason.message } }),
    })),
  };
  if (outcome === 'UNKNOWN') {
    const message = 'The response of the broker was lost, and the result could not be read back';
    throw new ServiceError('BROKER_TIMEOUT', message, { info });
  }
  const reason = error?.message ?? 'the broker refused the other commands';
  throw new ServiceError('BROKER_REJECTED', `Only a part of the change was applied: ${reason}`, { info });
}

builder.interfaceFields(Broker, (t) => ({
  viewerCanChangeAccessControl: t.boolean(
    viewerCan('Mutation.changeAccessControl', 'change accounts, groups and roles', ofBroker),
  ),
}));
