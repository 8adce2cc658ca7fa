import { builder, writesAccessControl } from '../../../gateway/graphql/builder.ts';
import { inputArgument } from '../../../gateway/graphql/payloads.ts';
import { mayControl } from '../../../platform/auth/viewer.ts';
import { invalid, withPlaces } from '../../../platform/errors.ts';
import type { ChangeReport, WriteReport } from '../writing/access-report.ts';
import { MUTATIONS } from './access-mutations.ts';
import { DRY_RUN, target } from './access-mutations-schema.ts';
import { nodesField, writeReportFields } from './access-report-schema.ts';
import { type NamedChange, recordOf } from './recorded-changes.ts';

const MAX_CHANGES = 10_000;

const AccessChangeInput = builder.inputType('AccessChangeInput', {
  description: 'One change. Exactly one field is required.',
  isOneOf: true,
  fields: (t) =>
    Object.fromEntries(MUTATIONS.map(({ name, description, input }) => [name, t.field({ description, type: input })])),
});

const ChangeAccessControlInput = builder.inputType('ChangeAccessControlInput', {
  description: 'The broker and the list of changes.',
  fields: (t) => ({
    ...target(t),
    changes: t.field({
      type: [AccessChangeInput],
      required: true,
      description: `The changes, executed in order, each on the result of the previous ones. At most ${MAX_CHANGES}.`,
    }),
    dryRun: t.boolean({ defaultValue: false, description: DRY_RUN }),
  }),
});

const ChangeAccessControlPayload = builder.objectRef<WriteReport>('ChangeAccessControlPayload').implement({
  description: 'The outcome of each change and of all changes.',
  fields: (t) => ({
    ...writeReportFields(t, 'One report per change, in the same order.'),
    ...nodesField(t),
  }),
});

builder.mutationField('changeAccessControl', (t) =>
  t.field({
    description:
      'Executes many changes in one call. A rejected change does not stop the following ones; each has its own outcome.',
    type: ChangeAccessControlPayload,
    ...writesAccessControl,
    args: inputArgument(ChangeAccessControlInput, 'The broker and the changes.'),
    resolve: async (_root, { input: { brokerId, changes, dryRun } }, { services, viewer }) => {
      if (changes.length > MAX_CHANGES) {
        throw invalid([{ path: 'input.changes', reason: `must not have more than ${MAX_CHANGES} entries` }]);
      }
      const broker = services.brokers.visible(brokerId, viewer);
      const requested = changes.map(changeOf);
      const report = await services.accessControl.write(
        broker,
        { changes: requested.map(({ change }) => change), mayControl: mayControl(viewer, broker) },
        dryRun ?? false,
      );
      return {
        ...report,
        ...recordOf(requested, report),
        changes: report.changes.map((change, index) => withPaths(change, changes[index] ?? {}, index)),
      };
    },
  }),
);

function withPaths(report: ChangeReport, input: object, index: number): ChangeReport {
  if (report.error === null) return report;
  return { ...report, error: withPlaces(report.error, (path) => `${pathOf(input, index)}.${path}`) };
}

const pathOf = (input: object, index: number): string => `input.changes.${index}.${Object.keys(input)[0]}`;

function changeOf(input: Readonly<Record<string, unknown>>, index: number): NamedChange {
  const keys = Object.keys(input);
  const found = MUTATIONS.find(({ name }) => name === keys[0]);
  // GraphQL validates this, too, but the commands for the broker must not depend on it.
  if (found === undefined || keys.length !== 1) {
    throw invalid([{ path: `input.changes.${index}`, reason: 'must have exactly one key' }]);
  }
  const change = found.change(input[found.name] as Readonly<Record<string, unknown>>, pathOf(input, index));
  return { mutation: found.name, change };
}
