import { render } from 'preact'
import { useState } from 'preact/hooks'
import { Problem } from '../api/problem'
import { Banner, ProblemBanner } from '../parts/banner'
import { Button, IconButton } from '../parts/button'
import { CheckList } from '../parts/check-list'
import { CodeText } from '../parts/code-text'
import { Dialog } from '../parts/dialog'
import { Badge, Empty, Facts, Keys } from '../parts/facts'
import { ChoiceButtons } from '../parts/choice'
import { Select, Switch, TextArea, TextField } from '../parts/field'
import { Foreign } from '../parts/foreign'
import { Icon, ICON_NAMES, Mark } from '../parts/icon'
import { Loading } from '../parts/loading'
import { Menu } from '../parts/menu'
import { ShownOnce } from '../parts/shown-once'
import { Table } from '../parts/table'
import { Tabs } from '../parts/tabs'
import { toast, Toasts } from '../parts/toast'
import { WorkingParts } from './working-parts'

const COLOURS = ['page', 'surface', 'sunken', 'ink', 'muted', 'edge', 'lapis', 'clay', 'ok', 'warn', 'danger', 'chart-1', 'chart-2', 'chart-3', 'chart-4', 'chart-5', 'chart-6', 'chart-7', 'chart-8']

/** Every component in its states, for looking at while developing. Releases do not have this page. */
function Gallery() {
  const [text, setText] = useState('copper tape')
  const [choice, setChoice] = useState('b')
  const [on, setOn] = useState(true)
  const [tab, setTab] = useState('rows')
  const [dialog, setDialog] = useState(false)
  const [secret, setSecret] = useState(false)
  const [names, setNames] = useState(['shop'])
  return (
    <main class="gallery">
      <h1>
        <Mark size={31} /> Gallery
      </h1>
      <Part name="Colours">
        {COLOURS.map((name) => (
          <figure key={name} class="swatch">
            <span style={{ background: `var(--${name})` }} />
            <figcaption>{name}</figcaption>
          </figure>
        ))}
      </Part>
      <Part name="Icons">
        {ICON_NAMES.map((name) => (
          <figure key={name} class="swatch">
            <Icon name={name} />
            <figcaption>{name}</figcaption>
          </figure>
        ))}
      </Part>
      <Part name="Buttons">
        {(['main', 'plain', 'quiet', 'danger'] as const).map((kind) => (
          <Button key={kind} kind={kind} icon="run">
            {kind}
          </Button>
        ))}
        <Button disabled>disabled</Button>
        <Button kind="main" disabled>
          disabled
        </Button>
        <IconButton icon="copy" name="Copy" />
        <Menu
          label="Menu"
          trigger={
            <>
              Menu <Icon name="down" size={16} />
            </>
          }
          items={[{ heading: 'Heading' }, { label: 'An action', icon: 'copy', note: 'Ctrl C' }, { label: 'Chosen', checked: true }, { label: 'Not possible', disabled: true }, { label: 'Delete', icon: 'trash', danger: true }]}
        />
        <Button onClick={() => setDialog(true)}>Dialog</Button>
        <Button onClick={() => toast('Copied')}>Toast</Button>
        <Button onClick={() => setSecret(true)}>A secret</Button>
      </Part>
      <Part name="Fields">
        <TextField label="Text" value={text} onText={setText} hint="A hint below the field." />
        <TextField label="Wrong" value="" onText={() => {}} error="A value is required." />
        <Select label="Choice" value={choice} choices={[{ value: 'a', label: 'First' }, { value: 'b', label: 'Second' }]} onChoose={setChoice} />
        <TextArea label="Several lines" value={text} onText={setText} />
        <Switch label="A switch" on={on} onToggle={setOn} />
        <ChoiceButtons
          label="View"
          choices={[
            { value: 'a', label: 'Table' },
            { value: 'b', label: 'Bars' },
          ]}
          value={choice}
          onChoose={setChoice}
        />
        <Switch label="Off" on={!on} onToggle={(value) => setOn(!value)} />
        <CheckList label="Some of several" note={{ text: 'Without a choice: all.' }} names={['shop', 'warehouse', 'archive']} chosen={names} onChoose={setNames} />
      </Part>
      <Part name="Tabs">
        <Tabs label="Views" tabs={[{ name: 'rows', title: 'Rows' }, { name: 'chart', title: 'Chart' }, { name: 'plan', title: 'Plan' }]} current={tab} onChoose={setTab} end={<span class="muted">1,000 rows</span>}>
          <p>{tab}</p>
        </Tabs>
      </Part>
      <Part name="Messages">
        <Banner>Information.</Banner>
        <Banner kind="ok" title="Done">Something went well.</Banner>
        <Banner kind="warn" actions={<Button>Reload</Button>}>Something to know.</Banner>
        <ProblemBanner problem={new Problem(503, 'The database shop cannot be reached.', 'unreachable', '3f9a2c')} onRetry={() => {}} />
        <Empty icon="table" title="No rows." actions={<Button>Run</Button>}>
          The statement has returned none.
        </Empty>
        <Loading onStop={() => {}} />
      </Part>
      <Part name="Facts">
        <Badge icon="lock">read only</Badge>
        <Badge kind="warn" icon="edit">
          may write
        </Badge>
        <Badge kind="danger">superuser</Badge>
        <Badge kind="ok">ready</Badge>
        <Keys keys={['Ctrl', 'K']} />
        <Facts facts={[['Rows', '2,100,000'], ['Size', '340 MB'], ['Comment', <Foreign key="c" text={'hidden \u202e and \u200b characters'} />]]} />
        <CodeText language="json" text={JSON.stringify({ query: 'select 1', rows: [1, null, true] }, null, 2)} />
        <Table
          label="Tokens"
          columns={[
            { title: 'Note', cell: ([note]) => note },
            { title: 'Rows', number: true, cell: ([, rows]) => rows },
          ]}
          rows={[
            ['reports', '1,204'],
            ['nightly', '31'],
          ]}
          keyOf={([note = '']) => note}
        />
        <ol>
          {[0, 1, 2].map((at) => (
            <li key={at} class="step" style={{ '--step': at }}>
              Step {at + 1}
            </li>
          ))}
        </ol>
      </Part>
      <WorkingParts />
      {dialog && (
        <Dialog title="Run this statement?" onClose={() => setDialog(false)} actions={<><Button autofocus onClick={() => setDialog(false)}>Do not run</Button><Button kind="danger">Run</Button></>}>
          <CodeText text="delete from orders" />
        </Dialog>
      )}
      {secret && <ShownOnce title="New token, shown once" note="It is kept nowhere." label="Token" secret="O9ms9jqT0lI1" onDone={() => setSecret(false)} />}
      <Toasts />
    </main>
  )
}

function Part({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <section>
      <h2>{name}</h2>
      <div class="gallery-part">{children}</div>
    </section>
  )
}

const root = document.getElementById('console')
if (root) render(<Gallery />, root)
