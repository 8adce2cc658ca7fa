import { useState } from 'react';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
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
    <section aria-label={text('connection')}>
      <h2>{text('connection')}</h2>
      <dl>
        <dt>{text('kind')}</dt>
        <dd>{text(settings.type)}</dd>
        {settings.type === 'CLOUD' && <RunState brokerId={id} />}
        <dt>{text('address')}</dt>
        <dd>{settings.url ?? '–'}</dd>
        <dt>{text('username')}</dt>
        <dd>{settings.username ?? text('none')}</dd>
        <dt>{text('tls')}</dt>
        <dd>{text(isEncrypted ? (settings.verifyCaCert ? 'verified' : 'notVerified') : 'noTls')}</dd>
        <dt>{text('takeover')}</dt>
        <dd>{text(settings.allowsClientTakeover ? 'yes' : 'no')}</dd>
        {'engine' in settings && settings.engine === 'EMBEDDED' && (
          <>
            <dt>{text('boundSessions')}</dt>
            <dd>{text(settings.bindsSessionsToAccounts ? 'yes' : 'no')}</dd>
          </>
        )}
        {'runsOn' in settings && settings.runsOn && (
          <>
            <dt>{text('runsOn')}</dt>
            <dd>{settings.runsOn.host}</dd>
          </>
        )}
        {settings.cluster && (
          <>
            <dt>{text('cluster')}</dt>
            <dd>{settings.cluster.name}</dd>
          </>
        )}
        {settings.description && (
          <>
            <dt>{text('description')}</dt>
            <dd>{settings.description}</dd>
          </>
        )}
        <dt>{text('stateSince')}</dt>
        <dd>
          <Time at={connection.since} />
        </dd>
        <dt>{text('added')}</dt>
        <dd>
          <Time at={settings.createdAt} />
        </dd>
        <dt>{text('id')}</dt>
        <dd>
          <code>{settings.id}</code>
        </dd>
      </dl>
      <p className="actions">
        {settings.viewerCanUpdate && (
          <button type="button" onClick={() => setOpen('change')}>
            {text('change')}
          </button>
        )}
        {settings.viewerCanDelete && (
          <button type="button" className="danger" onClick={() => setOpen('remove')}>
            {text('removeBroker')}
          </button>
        )}
      </p>
      {open === 'change' && <ChangeConnection settings={settings} onDone={changed} onClose={close} />}
      {open === 'remove' && <RemoveBroker settings={settings} onClose={close} />}
    </section>
  );
}
