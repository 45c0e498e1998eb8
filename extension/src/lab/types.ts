/** The little of Jupyter's interfaces that is used here. */

export interface LuminoWidget { id: string; title: { label: string; closable: boolean }; node: HTMLElement; isAttached: boolean; isDisposed: boolean; addClass(name: string): void; dispose(): void }
export type WidgetClass = new (options?: object) => LuminoWidget;

export interface Comm {
  open(data?: unknown): unknown;
  send(data: unknown): unknown;
  close(): unknown;
  onMsg: (message: { content: { data: any } }) => void;
  onClose: (message: unknown) => void;
}

export interface Kernel { status: string; createComm(target: string): Comm }

export interface Notebook extends LuminoWidget {
  widgets: { node: HTMLElement; model: { id: string } }[];
  activeCellIndex: number;
  mode: string;
  scrollToCell(cell: Notebook['widgets'][number], align: string): Promise<void>;
  activate(): void;
}

export interface Panel extends LuminoWidget {
  content: Notebook;
  sessionContext: { session: { kernel: Kernel | null } | null };
}

export interface Tracker { forEach(call: (panel: Panel) => void): void }

export interface MimeModel {
  readonly data: Record<string, any>;
  readonly metadata: Record<string, any>;
  readonly trusted: boolean;
}

export interface RenderMime {
  addFactory(factory: object, rank?: number): void;
  createRenderer(mimeType: string): LuminoWidget & { renderModel(model: MimeModel): Promise<void> };
}

export interface SettingRegistry {
  load(id: string): Promise<{ composite: Record<string, any>; changed: { connect(call: () => void): void } }>;
}

/** Where a widget can be put. */
export interface App { shell: { add(widget: LuminoWidget, area: string, options?: object): void } }

/** The kernel's answer to a look at a value. */
export interface Look { text?: string; html?: string }
