import type { RequestContext } from '../../../gateway/context.ts';
import { builder, writesAccessControl } from '../../../gateway/graphql/builder.ts';
import { mayControl } from '../../../platform/auth/viewer.ts';
import { ServiceError, withPlaces } from '../../../platform/errors.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { AccessChange } from '../writing/access-change.ts';
import type { BlastRadius, ChangeReport, NodeReport } from '../writing/access-report.ts';
import type { InputFields } from './access-change-inputs.ts';
import { AccessClient, AccessGroup, AccessRole, DefaultAcl } from './access-objects-schema.ts';
import { reportFields } from './access-report-schema.ts';
import {
  ANONYMOUS_GROUP_VERBS,
  CLIENT_VERBS,
  DEFAULT_ACL_VERBS,
  GROUP_VERBS,
  ROLE_VERBS,
  type Verb,
} from './access-verbs.ts';
import type { AccessView } from './access-view.ts';

interface Written extends ChangeReport {
  readonly broker: BrokerRecord;
  readonly change: AccessChange;
  readonly blastRadius: BlastRadius;
  readonly nodes?: readonly NodeReport[] | undefined;
}

const INSIDE_PROJECT = 'When given, the broker must be in this project.';
export const DRY_RUN = 'Send nothing: answer the commands that would be sent and who would be disconnected.';

const now = async ({ services }: RequestContext, { broker }: Written): Promise<AccessView> =>
  services.accessControl.view(broker);

const AccessClientPayload = builder.objectRef<Written>('AccessClientPayload').implement({
  fields: (t) => ({
    client: t.field({
      description: 'As the broker has it now; null when it has none of this name.',
      type: AccessClient,
      nullable: true,
      resolve: async (written, _args, context) =>
        'username' in written.change ? (await now(context, written)).client(written.change.username) : null,
    }),
    ...reportFields(t),
  }),
});

const AccessGroupPayload = builder.objectRef<Written>('AccessGroupPayload').implement({
  fields: (t) => ({
    group: t.field({
      description: 'As the broker has it now; null when it has none of this name.',
      type: AccessGroup,
      nullable: true,
      resolve: async (written, _args, context) =>
        'groupname' in written.change ? (await now(context, written)).group(written.change.groupname) : null,
    }),
    ...reportFields(t),
  }),
});

const AccessRolePayload = builder.objectRef<Written>('AccessRolePayload').implement({
  fields: (t) => ({
    role: t.field({
      description: 'As the broker has it now; null when it has none of this name.',
      type: AccessRole,
      nullable: true,
      resolve: async (written, _args, context) =>
        'rolename' in written.change ? (await now(context, written)).role(written.change.rolename) : null,
    }),
    ...reportFields(t),
  }),
});

const DefaultAclPayload = builder.objectRef<Written>('DefaultAclPayload').implement({
  fields: (t) => ({
    defaultAcl: t.field({
      description: 'As the broker has it now.',
      type: DefaultAcl,
      nullable: true,
      resolve: async (written, _args, context) => (await now(context, written)).policy.defaultAcl,
    }),
    ...reportFields(t),
  }),
});

/** Every kind of change: a mutation of its own, and an entry of a list of changes. */
export const VERBS: readonly {
  readonly name: string;
  readonly verb: Verb;
  readonly payload: typeof AccessClientPayload;
}[] = [
  ...verbs(CLIENT_VERBS, AccessClientPayload),
  ...verbs(GROUP_VERBS, AccessGroupPayload),
  ...verbs(ROLE_VERBS, AccessRolePayload),
  ...verbs(DEFAULT_ACL_VERBS, DefaultAclPayload),
  ...verbs(ANONYMOUS_GROUP_VERBS, AccessGroupPayload),
];

function verbs(of: Readonly<Record<string, Verb>>, payload: typeof AccessClientPayload) {
  return Object.entries(of).map(([name, verb]) => ({ name, verb, payload }));
}

export const capital = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

export const target = (t: InputFields) => ({
  brokerId: t.id({ required: true }),
  projectId: t.id({ description: INSIDE_PROJECT }),
});

for (const { name, verb, payload } of VERBS) {
  const input = builder.inputType(`${capital(name)}Input`, {
    fields: (t) => ({
      ...target(t),
      ...verb.fields(t),
      dryRun: t.boolean({ defaultValue: false, description: DRY_RUN }),
      mustApply: t.boolean({
        defaultValue: false,
        description: 'Answer PARTLY_APPLIED and UNKNOWN as errors, with the commands in their info.',
      }),
    }),
  });
  builder.mutationField(name, (t) =>
    t.field({
      description: verb.description,
      type: payload,
      ...writesAccessControl,
      args: { input: t.arg({ type: input, required: true }) },
      resolve: async (_root, args, { services, viewer }): Promise<Written> => {
        const { brokerId, dryRun, mustApply } = args.input;
        const broker = services.brokers.visible(brokerId, viewer);
        const made: AccessChange[] = [];
        const report = await services.accessControl.write(
          broker,
          (policy) => {
            made.push(verb.change(args.input, { policy, path: 'input' }));
            return made;
          },
          { dryRun: dryRun ?? false, mayControl: mayControl(viewer, broker) },
        );
        const [change] = made;
        const [result] = report.changes;
        if (change === undefined || result === undefined) throw new Error('A change was written without a report');
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

/**
 * For callers that only take "done" or an error: what happened in part, or perhaps, is an error that says which part.
 */
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
    throw new ServiceError(
      'BROKER_TIMEOUT',
      'The answer of the broker was lost, and what it did could not be read back',
      {
        info,
      },
    );
  }
  throw new ServiceError(
    'BROKER_REJECTED',
    `Only a part was done: ${error?.message ?? 'the broker refused the rest'}`,
    {
      info,
    },
  );
}
