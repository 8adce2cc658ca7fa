import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { Problem } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { useOpened } from '../ui/use-opened.ts';
import { CreateToken } from './create-token.tsx';
import { useProject } from './project-context.ts';
import { RevokeToken } from './revoke-token.tsx';
import { RotateToken } from './rotate-token.tsx';
import { SecretOnce } from './secret-once.tsx';
import { tokenTexts } from './token-texts.ts';

const TOKENS = graphql(`query Tokens($id: ID!) {
  project(id: $id) {
    viewerCanCreateTokens
    brokers(first: 1000) { nodes { id name } }
    tokens {
      id
      name
      role
      type
      brokerIds
      issuer
      issuedAt
      lastUsedAt
      validUntil
      previousValidUntil
      viewerCanManage
    }
  }
}`);

export type Token = NonNullable<ResultOf<typeof TOKENS>['project']>['tokens'][number];

/** The last use is not live. */
const EVERY_MS = 10_000;

type Open =
  | { readonly kind: 'secret'; readonly name: string; readonly secret: string }
  | { readonly kind: 'rotate' | 'revoke'; readonly token: Token };

/** The tokens of a project: who uses them, what they may do, and until when. */
export function Tokens() {
  const text = useTexts(tokenTexts);
  const { id } = useProject();
  const { data, error, renew } = useQuery(TOKENS, { id }, EVERY_MS);
  const [open, setOpen] = useState<Open | null>(null);
  const [isCreating, setCreating] = useOpened('token');
  const found = data?.project;
  if (!found) return <Problem error={error} />;
  const names = new Map(found.brokers.nodes.map((broker) => [broker.id, broker.name]));
  const scopeOf = ({ type, brokerIds }: Token) =>
    type === 'UNRESTRICTED' ? text('allBrokers') : brokerIds.map((broker) => names.get(broker) ?? broker).join(', ');
  const columns: Column<Token>[] = [
    { key: 'name', title: text('name'), cell: ({ name }) => name },
    { key: 'role', title: text('role'), cell: ({ role }) => text(role), value: ({ role }) => role },
    { key: 'scope', title: text('scope'), cell: (token) => scopeOf(token) || text('none') },
    {
      key: 'used',
      title: text('lastUsed'),
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? text('never') : <Time isRelative={true} at={lastUsedAt} />),
      value: (token) => token.lastUsedAt,
    },
    {
      key: 'until',
      title: text('validUntil'),
      cell: ({ validUntil, previousValidUntil }) => (
        <>
          {validUntil === null ? text('unlimited') : <Time at={validUntil} />}
          {previousValidUntil !== null && (
            <small>
              {' '}
              {text('previousUntil')} <Time at={previousValidUntil} />
            </small>
          )}
        </>
      ),
      value: ({ validUntil }) => validUntil,
    },
    {
      key: 'issuer',
      title: text('issuer'),
      cell: ({ issuer, issuedAt }) => (
        <>
          <span className="whole">{issuer}</span>{' '}
          <small>
            <Time isRelative={true} at={issuedAt} />
          </small>
        </>
      ),
      value: ({ issuer }) => issuer,
    },
    {
      key: 'issued',
      title: text('issued'),
      isHidden: true,
      cell: ({ issuedAt }) => <Time isRelative={true} at={issuedAt} />,
      value: ({ issuedAt }) => issuedAt,
    },
  ];
  const actions: Column<Token> = {
    key: 'actions',
    title: text('actions'),
    cell: (token) =>
      token.viewerCanManage && (
        <RowMenu name={token.name}>
          <button type="button" onClick={() => setOpen({ kind: 'rotate', token })}>
            {text('rotateOf', { name: token.name })}
          </button>
          <button type="button" className="danger" onClick={() => setOpen({ kind: 'revoke', token })}>
            {text('revokeOf', { name: token.name })}
          </button>
        </RowMenu>
      ),
  };
  const canManage = found.tokens.some(({ viewerCanManage }) => viewerCanManage);
  const create = found.viewerCanCreateTokens && (
    <button type="button" className="primary" onClick={() => setCreating(true)}>
      {text('createToken')}
    </button>
  );
  const close = () => setOpen(null);
  const received = (name: string, secret: string) => {
    setCreating(false);
    setOpen({ kind: 'secret', name, secret });
    renew();
  };
  return (
    <>
      {found.tokens.length > 0 && <p>{create}</p>}
      {found.tokens.length === 0 && (
        <Empty icon={KeyRound} title={text('noTokens')}>
          {create}
        </Empty>
      )}
      {found.tokens.length > 0 && (
        <Table
          name="tokens"
          label={text('tokens')}
          columns={canManage ? [...columns, actions] : columns}
          rows={found.tokens}
          keyOf={(token) => token.id}
        />
      )}
      <CopyAs document={TOKENS} variables={{ id }} />
      {isCreating && found.viewerCanCreateTokens && (
        <CreateToken
          projectId={id}
          brokers={found.brokers.nodes}
          onCreated={received}
          onClose={() => setCreating(false)}
        />
      )}
      {open?.kind === 'secret' && <SecretOnce name={open.name} secret={open.secret} onClose={close} />}
      {open?.kind === 'rotate' && <RotateToken token={open.token} onRotated={received} onClose={close} />}
      {open?.kind === 'revoke' && (
        <RevokeToken
          token={open.token}
          scope={scopeOf(open.token)}
          onRevoked={() => {
            close();
            renew();
          }}
          onClose={close}
        />
      )}
    </>
  );
}
