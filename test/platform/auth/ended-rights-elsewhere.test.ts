import { describe, expect, test } from 'vitest';
import { END_OF_RIGHTS, openedStream, TRANSPORTS } from '../../support/event-stream.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { startTestService } from '../../support/service.ts';
import { isLong } from '../../support/suite.ts';
import { done, RIGHTS_ENDINGS } from './rights-endings.ts';
import { SIGN_IN_ENDINGS } from './sign-in-endings.ts';

// Two services on one PostgreSQL share only the database, like two processes. A permission that one of them revokes
// ends the subscriptions of the other one.

const STATUS = 'subscription ($p: ID!) { brokerStatus(projectId: $p) { kind brokers { broker { name } } } }';
const UPDATE_BROKER = 'mutation ($i: UpdateBrokerInput!) { updateBroker(input: $i) { broker { name } } }';

const postgres = usePostgres();

describe.skipIf(!postgres.available)(postgres.available ? 'two services on one database' : UNAVAILABLE, () => {
  // The notification between services does not depend on the transport: ended-rights.test.ts has all of them.
  test.each(isLong ? TRANSPORTS : TRANSPORTS.slice(0, 1))(
    'rights that end at one close what was open with them at the other, over %s',
    async (transport) => {
      const env = { DATABASE_URL: await postgres.createDatabase(), SECRET_KEY: '5e'.repeat(32) };
      const one = await startTestService({ env });
      const two = await startTestService({ env });
      const { body } = await one.rest('POST', `/api/projects/${one.projectId}/brokers`, one.root, {
        name: 'plant',
        url: 'mqtt://127.0.0.1:1',
      });
      const world = { ...one, brokerId: body.id };
      const status = { query: STATUS, variables: { p: one.projectId } };
      const bystander = await openedStream(transport, two, (await one.person('VIEWER')).token, status);
      for (const [what, { code, holder }] of Object.entries({ ...RIGHTS_ENDINGS, ...SIGN_IN_ENDINGS })) {
        const { token, end } = await holder(world);
        const stream = await openedStream(transport, two, token, status);
        await end();
        const { close, errors } = await stream.ended;
        expect([what, close, errors]).toEqual([what, END_OF_RIGHTS[transport], [code]]);

        await done(one, UPDATE_BROKER, { brokerId: body.id, name: what });
        await bystander.until(({ brokerStatus }) =>
          brokerStatus.brokers.some(({ broker }: { broker: { name: string } }) => broker.name === what),
        );
      }

      // A root administrator keeps the role in a project that is gone.
      const root = await openedStream(transport, two, two.root, status);
      const remove = 'mutation ($i: DeleteProjectInput!) { deleteProject(input: $i) { deletedProjectId } }';
      await done(one, remove, { projectId: one.projectId });
      for (const stream of [root, bystander]) {
        const { close, errors } = await stream.ended;
        expect([close, errors]).toEqual([END_OF_RIGHTS[transport], ['NOT_ALLOWED']]);
      }
    },
  );
});
