import { useState } from 'react';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { DangerZone } from '../ui/danger-zone.tsx';
import { Facts } from '../ui/facts.tsx';
import { Problem } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { useBroker, useRenewBroker } from './broker-context.ts';
import { ChangeConnection } from './change-connection.tsx';
import { CONNECTION } from './connection-settings.ts';
import { connectionTexts } from './connection-texts.ts';
import { RemoveBroker } from './remove-broker.tsx';
import { RunState } from './run-state.tsx';

/** How the service connects to the broker, and how to change or end it. */
export function Connection() {
  const text = useTexts(connectionTexts);
  const { id, connection } = useBroker();
  const renewBroker = useRenewBroker();
  const { data, error, renew } = useQuery(CONNECTION, { id });
  const [open, setOpen] = useState<'change' | 'remove' | null>(null);
  const settings = data?.broker;
  const close = () => setOpen(null);
  const changed = () => {
    close();
    renew();
    renewBroker();
  };
  if (!settings) return <Problem error={error} />;
  const isEncrypted = /^(mqtts|wss):/.test(settings.url ?? '');
  return (
    <>
      <section className="card" aria-label={text('connection')}>
        <h2>{text('connection')}</h2>
        <Facts
          facts={[
            [text('kind'), text(settings.type)],
            [text('address'), settings.url ?? '–'],
            [text('username'), settings.username ?? text('none')],
            [text('tls'), text(isEncrypted ? (settings.verifyCaCert ? 'verified' : 'notVerified') : 'noTls')],
            [text('takeover'), text(settings.allowsClientTakeover ? 'yes' : 'no')],
            [
              text('boundSessions'),
              'engine' in settings &&
                settings.engine === 'EMBEDDED' &&
                text(settings.bindsSessionsToAccounts ? 'yes' : 'no'),
            ],
            [text('runsOn'), 'runsOn' in settings && settings.runsOn?.host],
            [text('cluster'), settings.cluster?.name],
            [text('description'), settings.description],
            [text('stateSince'), <Time key="since" at={connection.since} />],
            [text('added'), <Time key="added" at={settings.createdAt} />],
            [text('id'), <code key="id">{settings.id}</code>],
          ]}
        >
          {settings.type === 'CLOUD' && <RunState brokerId={id} />}
        </Facts>
        {settings.viewerCanUpdate && (
          <button type="button" onClick={() => setOpen('change')}>
            {text('change')}
          </button>
        )}
      </section>
      {settings.viewerCanDelete && (
        <DangerZone>
          <button type="button" className="danger" onClick={() => setOpen('remove')}>
            {text('removeBroker')}
          </button>
        </DangerZone>
      )}
      {open === 'change' && <ChangeConnection settings={settings} onDone={changed} onClose={close} />}
      {open === 'remove' && <RemoveBroker settings={settings} onClose={close} />}
    </>
  );
}
