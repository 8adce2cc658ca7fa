import { ShieldQuestionMark } from 'lucide-react';
import { useBroker } from '../broker/broker-context.ts';
import { graphql } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useTexts } from '../texts/texts.ts';
import { Empty } from '../ui/empty.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Assumptions } from './assumptions.tsx';
import { ExplainForm } from './explain-form.tsx';
import { Explanation } from './explanation.tsx';
import { whyTexts } from './texts.ts';
import { useWhy } from './use-why.ts';

const CLIENT = graphql(`query AccountOfClient($id: ID!, $clientId: String!) {
  broker(id: $id) { connectedClient(clientId: $clientId) { account { username } username } }
}`);

/** Asks for one client. Who it is may be given by its client id alone, if it is connected. */
export function Explain({ revision }: { readonly revision: number }) {
  const text = useTexts(whyTexts);
  const { inputs } = useWhy();
  const isKnown = inputs.account !== '' || inputs.isAnonymous;
  return (
    <>
      <ExplainForm key={JSON.stringify(inputs)} />
      {isKnown && <Explained revision={revision} account={inputs.isAnonymous ? null : inputs.account} />}
      {!isKnown && inputs.clientId !== '' && <OfClient revision={revision} />}
      {!isKnown && inputs.clientId === '' && (
        <Empty icon={ShieldQuestionMark} title={text('purpose')}>
          <p>{text('purposeText')}</p>
        </Empty>
      )}
    </>
  );
}

/** Finds the account that a connected client uses. */
function OfClient({ revision }: { readonly revision: number }) {
  const text = useTexts(whyTexts);
  const { id } = useBroker();
  const { inputs } = useWhy();
  const { clientId } = inputs;
  const { data, error, isCurrent } = useFresh(CLIENT, { id, clientId }, 0);
  if (!isCurrent) return <Problem error={null} />;
  const client = data?.broker?.connectedClient;
  if (!client) {
    return (
      <>
        <Refusal error={error} />
        <p className="note">{text('noSuchClient', { client: clientId })}</p>
      </>
    );
  }
  const account = client.account?.username ?? null;
  return (
    <>
      <p>
        {account === null
          ? text('clientIsAnonymous', { client: clientId })
          : text('clientUses', { client: clientId, account })}
      </p>
      <Explained revision={revision} account={account} />
    </>
  );
}

interface ExplainedProps {
  readonly revision: number;
  /** `null`: without a user name. */
  readonly account: string | null;
}

function Explained({ revision, account }: ExplainedProps) {
  const text = useTexts(whyTexts);
  const { inputs } = useWhy();
  if (inputs.topic === '') return <p className="note">{text('topicMissing')}</p>;
  return (
    <Explanation revision={revision} account={account} inputs={inputs}>
      <Assumptions account={account} revision={revision} />
    </Explanation>
  );
}
