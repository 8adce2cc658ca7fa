import type { BrokerRecord } from '../brokers/broker-directory.ts';
import type { RequestContext } from '../context.ts';
import { invalid, ServiceError } from '../errors.ts';
import { builder, writesOnBroker } from '../graphql/builder.ts';
import type { AccessChange } from './access-change.ts';
import {
  ANONYMOUS_GROUP_VERBS,
  CLIENT_VERBS,
  DEFAULT_ACL_VERBS,
  GROUP_VERBS,
  type InputFields,
  ROLE_VERBS,
  type Verb,
} from './access-change-inputs.ts';
import type { AccessPolicy } from './access-model.ts';
import { AccessClient, AccessGroup, AccessRole, DefaultAcl } from './access-objects-schema.ts';
import type { BlastRadius as BlastRadiusData, ChangeReport, WriteReport } from './access-report.ts';
import { AccessChangeReport, BlastRadius, ChangeOutcome, reportFields } from './access-report-schema.ts';
import type { AccessView } from './access-view.ts';

/** More changes in one call are refused. */
const MAX_CHANGES = 10_000;

interface Written extends ChangeReport {
  readonly broker: BrokerRecord;
  readonly change: AccessChange;
  readonly blastRadius: BlastRadiusData;
}

const INSIDE_PROJECT = 'When given, the broker must be in this project.';
const DRY_RUN = 'Send nothing: answer the commands that would be sent and who would be disconnected.';

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
const VERBS: readonly { readonly name: string; readonly verb: Verb; readonly payload: typeof AccessClientPayload }[] = [
  ...verbs(CLIENT_VERBS, AccessClientPayload),
  ...verbs(GROUP_VERBS, AccessGroupPayload),
  ...verbs(ROLE_VERBS, AccessRolePayload),
  ...verbs(DEFAULT_ACL_VERBS, DefaultAclPayload),
  ...verbs(ANONYMOUS_GROUP_VERBS, AccessGroupPayload),
];

function verbs(of: Readonly<Record<string, Verb>>, payload: typeof AccessClientPayload) {
  return Object.entries(of).map(([name, verb]) => ({ name, verb, payload }));
}

const capital = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

const target = (t: InputFields) => ({
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
      ...writesOnBroker,
      args: { input: t.arg({ type: input, required: true }) },
      resolve: async (_root, args, { services, viewer }): Promise<Written> => {
        const { brokerId, dryRun, mustApply } = args.input;
        const broker = services.brokers.visible(brokerId, viewer);
        const made: AccessChange[] = [];
        const report = await services.accessControl.write(
          broker,
          (policy) => {
            made.push(verb.change(args.input, policy));
            return made;
          },
          dryRun ?? false,
        );
        const [change] = made;
        const [result] = report.changes;
        if (change === undefined || result === undefined) throw new Error('A change was written without a report');
        if (result.outcome === 'REJECTED') throw result.error ?? new Error('A change was rejected without a reason');
        if (mustApply) throwUnlessApplied(result);
        return { ...result, broker, change, blastRadius: report.blastRadius };
      },
    }),
  );
}

/** For callers that only take "done" or an error: what happened in part, or perhaps, is an error that says which part. */
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

const AccessChangeInput = builder.inputType('AccessChangeInput', {
  description: 'One change: exactly one of these.',
  isOneOf: true,
  fields: (t) =>
    Object.fromEntries(
      VERBS.map(({ name, verb }) => [
        name,
        t.field({
          description: verb.description,
          type: builder.inputType(`${capital(name)}Change`, { fields: verb.fields }),
        }),
      ]),
    ),
});

const ChangeAccessControlInput = builder.inputType('ChangeAccessControlInput', {
  fields: (t) => ({
    ...target(t),
    changes: t.field({
      type: [AccessChangeInput],
      required: true,
      description: `Carried out in their order, each on the result of those before it. At most ${MAX_CHANGES}.`,
    }),
    dryRun: t.boolean({ defaultValue: false, description: DRY_RUN }),
  }),
});

const ChangeAccessControlPayload = builder.objectRef<WriteReport>('ChangeAccessControlPayload').implement({
  fields: (t) => ({
    outcome: t.field({
      description: 'The worst of all changes.',
      type: ChangeOutcome,
      resolve: ({ outcome }) => outcome,
    }),
    changes: t.field({
      description: 'One for each change, in their order.',
      type: [AccessChangeReport],
      resolve: ({ changes }) => [...changes],
    }),
    blastRadius: t.field({ type: BlastRadius, resolve: ({ blastRadius }) => blastRadius }),
  }),
});

builder.mutationField('changeAccessControl', (t) =>
  t.field({
    description:
      'Many changes in one call. One that is rejected does not stop those after it; each has its own result.',
    type: ChangeAccessControlPayload,
    ...writesOnBroker,
    args: { input: t.arg({ type: ChangeAccessControlInput, required: true }) },
    resolve: (_root, { input: { brokerId, changes, dryRun } }, { services, viewer }) => {
      if (changes.length > MAX_CHANGES) {
        throw invalid([{ path: 'input.changes', reason: `must not have more than ${MAX_CHANGES} entries` }]);
      }
      return services.accessControl.write(
        services.brokers.visible(brokerId, viewer),
        (policy) => changes.map((change, index) => changeOf(change, index, policy)),
        dryRun ?? false,
      );
    },
  }),
);

function changeOf(given: Readonly<Record<string, unknown>>, index: number, policy: AccessPolicy): AccessChange {
  const keys = Object.keys(given);
  const found = VERBS.find(({ name }) => name === keys[0]);
  // The graph has made sure of it; what is sent to a broker must not depend on that.
  if (found === undefined || keys.length !== 1) {
    throw invalid([{ path: `input.changes.${index}`, reason: 'must have exactly one key' }]);
  }
  return found.verb.change(given[found.name] as Readonly<Record<string, unknown>>, policy);
}
