import { builder, type InputFields, writesAccessControl } from '../../../gateway/graphql/builder.ts';
import { inputArgument } from '../../../gateway/graphql/payloads.ts';
import { ofBroker, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { mayControl } from '../../../platform/auth/viewer.ts';
import { ServiceError, withPlaces } from '../../../platform/errors.ts';
import { capitalized } from '../../../platform/text/capitalized.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { ChangeReport } from '../writing/access-report.ts';
import { MUTATIONS } from './access-mutations.ts';
import { BROKER_ID } from './access-objects-schema.ts';
import { createPayload, type Written } from './access-payloads-schema.ts';
import { disconnectsOf } from './recorded-changes.ts';

export const DRY_RUN =
  'Returns the commands and the clients that they would disconnect, but sends no command to the broker.';

export const target = (t: InputFields) => ({
  brokerId: t.id(BROKER_ID),
  projectId: t.id({ description: 'If given, the broker must be in this project.' }),
});

for (const { name, description, objects, input: type, change: changeOf } of MUTATIONS) {
  const input = builder.inputType(`${capitalized(name)}Input`, {
    description: `Input of \`${name}\`: the broker, the change, and how the change is executed.`,
    fields: (t) => ({
      ...target(t),
      change: t.field({
        description: 'What is created, changed or removed, with the new values.',
        type,
        required: true,
      }),
      dryRun: t.boolean({ defaultValue: false, description: DRY_RUN }),
      mustApply: t.boolean({
        defaultValue: false,
        description: 'Whether PARTLY_APPLIED and UNKNOWN are returned as errors, with the commands in `info`.',
      }),
    }),
  });
  builder.mutationField(name, (t) =>
    t.field({
      description,
      type: createPayload(name, objects),
      ...writesAccessControl,
      args: inputArgument(input, 'The broker and the change.'),
      resolve: async (_root, args, { services, viewer }): Promise<Written> => {
        const { brokerId, dryRun, mustApply } = args.input;
        const broker = services.brokers.visible(brokerId, viewer);
        const change = changeOf(args.input.change, 'input.change');
        const report = await services.accessControl.write(
          broker,
          { changes: [change], mayControl: mayControl(viewer, broker) },
          dryRun ?? false,
        );
        const [result] = report.changes;
        if (result === undefined) throw new Error('A change was written without a report');
        if (result.outcome === 'REJECTED') {
          if (result.error === null) throw new Error('A change was rejected without a reason');
          throw withPlaces(result.error, (path) => `input.change.${path}`);
        }
        if (mustApply) throwUnlessApplied(result);
        const { blastRadius, nodes } = report;
        const after = disconnectsOf(result.outcome, blastRadius);
        return { ...result, after, broker, change, blastRadius, nodes };
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
