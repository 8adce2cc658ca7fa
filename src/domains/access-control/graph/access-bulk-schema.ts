import { builder, writesAccessControl } from '../../../gateway/graphql/builder.ts';
import { mayControl } from '../../../platform/auth/viewer.ts';
import { invalid, withPlaces } from '../../../platform/errors.ts';
import type { AccessPolicy } from '../policy/access-model.ts';
import type { AccessChange } from '../writing/access-change.ts';
import type { ChangeReport, WriteReport } from '../writing/access-report.ts';
import { capital, DRY_RUN, target, VERBS } from './access-mutations-schema.ts';
import { AccessChangeReport, BlastRadius, ChangeOutcome, nodesField } from './access-report-schema.ts';

/** More changes in one call are refused. */
const MAX_CHANGES = 10_000;

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
    ...nodesField(t),
  }),
});

builder.mutationField('changeAccessControl', (t) =>
  t.field({
    description:
      'Many changes in one call. One that is rejected does not stop those after it; each has its own result.',
    type: ChangeAccessControlPayload,
    ...writesAccessControl,
    args: { input: t.arg({ type: ChangeAccessControlInput, required: true }) },
    resolve: async (_root, { input: { brokerId, changes, dryRun } }, { services, viewer }): Promise<WriteReport> => {
      if (changes.length > MAX_CHANGES) {
        throw invalid([{ path: 'input.changes', reason: `must not have more than ${MAX_CHANGES} entries` }]);
      }
      const broker = services.brokers.visible(brokerId, viewer);
      const report = await services.accessControl.write(
        broker,
        (policy) => changes.map((change, index) => changeOf(change, index, policy)),
        { dryRun: dryRun ?? false, mayControl: mayControl(viewer, broker) },
      );
      return { ...report, changes: report.changes.map((change, index) => placed(change, changes[index] ?? {}, index)) };
    },
  }),
);

function placed(report: ChangeReport, given: object, index: number): ChangeReport {
  if (report.error === null) return report;
  return { ...report, error: withPlaces(report.error, (path) => `${placeOf(given, index)}.${path}`) };
}

const placeOf = (given: object, index: number): string => `input.changes.${index}.${Object.keys(given)[0]}`;

function changeOf(given: Readonly<Record<string, unknown>>, index: number, policy: AccessPolicy): AccessChange {
  const keys = Object.keys(given);
  const found = VERBS.find(({ name }) => name === keys[0]);
  // The graph has made sure of it; what is sent to a broker must not depend on that.
  if (found === undefined || keys.length !== 1) {
    throw invalid([{ path: `input.changes.${index}`, reason: 'must have exactly one key' }]);
  }
  return found.verb.change(given[found.name] as Readonly<Record<string, unknown>>, {
    policy,
    path: placeOf(given, index),
  });
}
