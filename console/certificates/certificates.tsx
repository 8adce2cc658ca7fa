import { FileBadge } from 'lucide-react';
import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { useQuery } from '../graph/use-query.ts';
import { useProject } from '../project/project-context.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { contains } from '../ui/contains.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { FilterBar } from '../ui/filter-bar.tsx';
import { NoMatch } from '../ui/no-match.tsx';
import { Pager, usePage } from '../ui/pager.tsx';
import { Problem } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { useOpened } from '../ui/use-opened.ts';
import { CERTIFICATES, type Certificate, listenerText } from './certificates-query.ts';
import { Chain } from './chain.tsx';
import { daysClass } from './days-left.ts';
import { DeleteCertificate } from './delete-certificate.tsx';
import { DeployCertificate } from './deploy-certificate.tsx';
import { ReplaceCertificate } from './replace-certificate.tsx';
import './style.css';
import { certificateTexts } from './texts.ts';
import { UndeployCertificate } from './undeploy-certificate.tsx';
import { UploadCertificate } from './upload-certificate.tsx';

/** Days left and deployments change slowly, but other administrators change them, too. */
const EVERY_MS = 10_000;

interface Open {
  readonly kind: 'replace' | 'deploy' | 'undeploy' | 'delete';
  readonly certificate: Certificate;
}

/** The certificates of a project. On each page those in use come first, then the others, each by expiry. */
export function Certificates() {
  const text = useTexts(certificateTexts);
  const { id } = useProject();
  const [search] = useSearchParams();
  const { page, offset, onPage } = usePage();
  const variables = { id, offset };
  const { data, error, renew } = useQuery(CERTIFICATES, variables, EVERY_MS);
  const [open, setOpen] = useState<Open | null>(null);
  const [isUploading, setUploading] = useOpened('certificate');
  const found = data?.project;
  if (!found?.certificates) return <Problem error={error} />;
  const { nodes, totalCount } = found.certificates;
  const warnDays = found.problemThresholds.certificateDays;
  const certificates = nodes.toSorted((a, b) => Number(isInUse(b)) - Number(isInUse(a)) || a.daysLeft - b.daysLeft);
  const shown = certificates.filter(({ name, filename, subject, subjectAltNames, deployments }) =>
    contains(search.get('search') ?? '', [
      name,
      filename,
      subject,
      ...subjectAltNames,
      ...deployments.map((one) => one.broker.name),
    ]),
  );
  const button = (kind: Open['kind'], certificate: Certificate) => (
    <button
      type="button"
      className={kind === 'undeploy' || kind === 'delete' ? 'danger' : undefined}
      onClick={() => setOpen({ kind, certificate })}
    >
      {text(kind)}
    </button>
  );
  const columns: Column<Certificate>[] = [
    {
      key: 'name',
      title: text('name'),
      cell: (certificate) => <Chain certificate={certificate} />,
      value: ({ name }) => name,
    },
    {
      key: 'kind',
      title: text('kind'),
      cell: ({ isAuthority, hasPrivateKey }) => text(hasPrivateKey ? 'server' : isAuthority ? 'authority' : 'noKey'),
    },
    {
      key: 'daysLeft',
      title: text('daysLeft'),
      isNumber: true,
      cell: ({ daysLeft }) => <span className={daysClass(daysLeft, warnDays)}>{daysLeft}</span>,
      value: ({ daysLeft }) => daysLeft,
    },
    {
      key: 'validTo',
      title: text('validTo'),
      cell: ({ validTo }) => <Time at={validTo} />,
      value: (one) => one.validTo,
    },
    { key: 'names', title: text('names'), cell: ({ subjectAltNames }) => subjectAltNames.join(', ') || '–' },
    {
      key: 'deployments',
      title: text('deployedOn'),
      cell: (certificate) =>
        isInUse(certificate) ? (
          <ul className="plain">
            {certificate.deployments.map((deployment) => (
              <li key={`${deployment.broker.id} ${listenerText(deployment)}`}>
                <Link href={`/brokers/${deployment.broker.id}`}>{deployment.broker.name}</Link>{' '}
                {text('onPort', { port: listenerText(deployment) })}
              </li>
            ))}
          </ul>
        ) : (
          <span className="state">{text('notInUse')}</span>
        ),
      value: ({ deployments }) => deployments.map((one) => `${one.broker.name} ${listenerText(one)}`).join(', '),
    },
  ];
  const canChange = certificates.some(({ viewerCanDeploy, viewerCanDelete }) => viewerCanDeploy || viewerCanDelete);
  const actions: Column<Certificate> = {
    key: 'actions',
    title: text('actions'),
    cell: (certificate) => {
      const { viewerCanDeploy, viewerCanDelete } = certificate;
      const isDeployed = isInUse(certificate);
      if (!viewerCanDeploy && !viewerCanDelete) return null;
      return (
        <RowMenu name={certificate.name}>
          {viewerCanDeploy && button('deploy', certificate)}
          {viewerCanDeploy && isDeployed && found.viewerCanCreateCertificates && button('replace', certificate)}
          {viewerCanDeploy && isDeployed && button('undeploy', certificate)}
          {viewerCanDelete && !isDeployed && button('delete', certificate)}
        </RowMenu>
      );
    },
  };
  const close = () => {
    setOpen(null);
    setUploading(false);
  };
  const done = () => {
    close();
    renew();
  };
  return (
    <>
      <FilterBar
        keys={['search']}
        // Of several pages, only one could be searched.
        search={totalCount === nodes.length && totalCount > 0 ? { name: 'search', label: text('find') } : undefined}
        actions={
          found.viewerCanCreateCertificates && (
            <button type="button" className="primary" onClick={() => setUploading(true)}>
              {text('upload')}
            </button>
          )
        }
      />
      {certificates.length === 0 && (
        <Empty icon={FileBadge} title={text('noCertificates')}>
          <CommandToCopy command={SELF_SIGNED} />
        </Empty>
      )}
      {certificates.length > 0 && shown.length === 0 && <NoMatch title={text('noMatch')} keys={['search']} />}
      {shown.length > 0 && (
        <Table
          name="certificates"
          label={text('certificates')}
          columns={canChange ? [...columns, actions] : columns}
          rows={shown}
          keyOf={(certificate) => certificate.id}
        />
      )}
      <Pager page={page} total={totalCount} onPage={onPage} />
      <CopyAs document={CERTIFICATES} variables={variables} />
      {isUploading && found.viewerCanCreateCertificates && (
        <UploadCertificate projectId={id} onDone={done} onClose={close} />
      )}
      {open?.kind === 'replace' && (
        <ReplaceCertificate projectId={id} replaced={open.certificate} onDone={done} onChange={renew} onClose={close} />
      )}
      {open?.kind === 'deploy' && (
        <DeployCertificate projectId={id} certificate={open.certificate} onChange={renew} onClose={close} />
      )}
      {open?.kind === 'undeploy' && (
        <UndeployCertificate certificate={open.certificate} onChange={renew} onClose={close} />
      )}
      {open?.kind === 'delete' && <DeleteCertificate certificate={open.certificate} onDone={done} onClose={close} />}
    </>
  );
}

const isInUse = ({ deployments }: Certificate): boolean => deployments.length > 0;

const SELF_SIGNED = `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 397 \\
  -subj /CN=broker -addext 'subjectAltName = DNS:broker.example.com' -keyout broker.key -out broker.pem`;
