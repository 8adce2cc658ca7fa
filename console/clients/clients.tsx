import { lazy } from 'react';
import { useParams } from 'wouter';
import { clientIdIn } from './client-address.ts';
import { ClientList } from './client-list.tsx';

const Client = lazy(async () => ({ default: (await import('../client/client.tsx')).Client }));

/** The clients of a broker; below its address, one client. */
export function Clients() {
  const { '*': part = '' } = useParams<{ '*': string }>();
  const clientId = clientIdIn(part);
  return clientId === '' ? <ClientList /> : <Client key={clientId} clientId={clientId} />;
}
