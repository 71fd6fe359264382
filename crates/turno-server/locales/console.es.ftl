# The console: what stands on every page.

motto = De a uno, por turno, sin perder nada
skip = Ir al contenido
nav = Secciones
nav-overview = Resumen
nav-tasks = Tareas
nav-leases = Bloqueos
nav-queues = Colas
nav-sync = Sincronización
nav-audit = Auditoría
nav-admin = Administración
sign-out = Salir
sign-in = Iniciar sesión
theme-now = Ahora: { $theme ->
        [dark] colores oscuros
        [light] colores claros
       *[auto] los colores del equipo
    }
theme-next = { $theme ->
        [dark] Pasar a oscuro
        [light] Pasar a claro
       *[auto] Como el equipo
    }
live-updated = Actualizado { $ago }
live-lost = Sin conexión desde { $since }. { $updated }. Se reintenta solo.
ago-now = ahora
ago-s = hace { $n } s
ago-m = hace { $n } min
ago-h = hace { $n } h
ago-d = hace { $n } d
in-s = en { $n } s
in-m = en { $n } min
in-h = en { $n } h
in-d = en { $n } d
copied = Copiado
copy = Copiar
filter = Filtrar
pages = Páginas
page-first = ‹ Al principio
page-next = Siguientes ›
dismiss = Volver
reason = Motivo
reason-hint = Queda en la auditoría, con su nombre.
go-home = Ir al resumen
request-id = Si pide ayuda, dé este número:

# The way in.

session-ended = Su sesión terminó y no se guardó nada. Entre otra vez y vuelve a la misma página.
session-over = Su sesión terminó: venció, se cerró en otra ventana o la cerró un administrador. Desde ahora esta página no se actualiza ni guarda nada.
session-again = Entrar de nuevo
way-in-title = { $kind ->
        [setup] Primer administrador
       *[sign_in] Iniciar sesión
    }
way-in-lead = { $kind ->
        [setup] Todavía no hay nadie. Usted será quien agregue a los demás.
       *[sign_in] Entre con su usuario para ver y hacer su trabajo.
    }
way-in-user = { $kind ->
        [setup] Su usuario
       *[sign_in] Usuario
    }
way-in-password = { $kind ->
        [setup] Una contraseña nueva
       *[sign_in] Contraseña
    }
way-in-hint = { $kind ->
        [setup] Al menos 8 caracteres.
       *[sign_in] ¿No la recuerda? Pida a un administrador una contraseña nueva.
    }
way-in-button = { $kind ->
        [setup] Crear y entrar
       *[sign_in] Entrar
    }

# States: the one word for each, wherever it is shown.

state-pending = En espera
state-in_process = En proceso
state-processed = Procesado
state-error = Con error
state-exhausted = Agotado
state-cancelled = Cancelado
state-free = Libre
state-locked = Bloqueada
state-offered = Ofrecida
state-paused = En pausa
state-active = Activa

# Locks.

fence = Fence
instance = Instancia
filters-clear = Quitar filtros
filters-none = Nada coincide con estos filtros
filters-none-what = Puede haber más; cambie los filtros o quítelos.
leases-lead = Quién tiene qué, desde cuándo y hasta cuándo.
leases-prefix = Recurso que empieza con
filter-person = Quién, por nombre o usuario
leases-resource = Recurso
leases-holder = Quién
leases-since = Desde
leases-until = Hasta
leases-beat = Último latido
leases-worked = Último trabajo
leases-expires = Vence
leases-waiting = Esperan
leases-asked = { $count ->
        [one] 1 persona la pide
       *[other] { $count } personas la piden
    }
leases-empty = Nadie tiene nada bloqueado
leases-empty-what = Un bloqueo aparece aquí en cuanto una persona procesa una tarea o un programa toma un recurso. Pruébelo:
leases-held-by = Bloqueada por { $name } desde
leases-request = { $name } pide que la libere,
leases-offered-to = Está libre y se ofrece primero a { $name }; la oferta termina
leases-is-free = Libre. Nadie la tiene.
leases-line = Esperan su turno
leases-history = Historial
leases-history-empty = Nadie la tuvo antes
leases-ended = Cómo terminó
leases-force-release = Forzar liberación
leases-force-claim = Tomar el lock
leases-force-release-title = ¿Liberar lo que tiene { $name }?
leases-force-claim-title = ¿Tomar lo que tiene { $name }?
leases-force-release-what = Pierde el bloqueo en este momento y se entera del motivo. Lo que ya se aplicó queda aplicado.
leases-force-claim-what = Pasa a usted en este momento, antes que a quienes esperan, y quien lo tenía se entera del motivo.
leases-force-released = { $resource } quedó libre
leases-force-claimed = { $resource } es suyo ahora
leases-force-claim-still = Desde aquí nadie lo renueva: termina solo, pasado el tiempo de su política.
leases-force-claim-there = Tomar el lock en la tarea
leases-changed-hands = No se hizo nada: cambió de manos mientras usted decidía. Ahora lo tiene { $name }.
cause-no_heartbeat = Venció: dejó de renovarse
cause-idle = Venció por inactividad
cause-rolling_timeout = Venció: pasó demasiado tiempo sin trabajo
cause-override = Un administrador intervino
cause-user_disabled = La persona fue deshabilitada
cause-released = La liberó

# Overview.

all = Todo
state = Estado
overview-lead = Lo que pasa ahora, cómo viene, y lo que espera por una persona.
overview-now = Ahora
overview-held = Bloqueos tomados
overview-held-what = personas y programas
overview-working = En proceso
overview-lanes = { $count ->
        [0] ninguna clave ocupada
        [one] 1 clave ocupada
       *[other] { $count } claves ocupadas
    }
overview-waiting = En espera
overview-lanes-waiting = { $count ->
        [0] ninguna clave con mensajes
        [one] 1 clave con mensajes
       *[other] { $count } claves con mensajes
    }
overview-failing = Con error
overview-failing-what = se reintentan solos
overview-exhausted-what = sin intentos, esperan decisión
overview-collisions = Choques evitados
overview-collisions-since = en este servidor desde
overview-collisions-what = Veces que alguien quiso lo que otro tenía, o llegó tarde con un fence vencido
chart-span = por minuto, en este servidor
chart-items = Elementos de las colas
chart-processed = Procesados
chart-failed = Fallidos
chart-locks = Bloqueos
chart-claimed = Tomados
chart-collisions = Rechazados
overview-all = Ver todo
overview-locks = Quién tiene qué
needs = Necesita a una persona
needs-none = Nada espera por usted
needs-first = Todavía no hay colas ni bloqueos. Para empezar, mire cómo se crean:
needs-first-what = Cuando haya trabajo en las colas, o alguien tenga algo bloqueado, se verá aquí.
needs-ready = { $more ->
        [yes] Más de { $count } tareas listas para procesar
       *[no] { $count ->
            [one] 1 tarea lista para procesar
           *[other] { $count } tareas listas para procesar
        }
    }
needs-processing = { $more ->
        [yes] Más de { $count } tareas en proceso que nadie tiene
       *[no] { $count ->
            [one] 1 tarea en proceso que nadie tiene
           *[other] { $count } tareas en proceso que nadie tiene
        }
    }
needs-exhausted = { $count ->
        [one] 1 elemento agotado en { $queue }: revisar y reintentar
       *[other] { $count } elementos agotados en { $queue }: revisar y reintentar
    }
needs-exhausted-others = { $count ->
        [one] 1 elemento agotado en { $queue }: lo decide quien administra las colas
       *[other] { $count } elementos agotados en { $queue }: los decide quien administra las colas
    }
needs-paused = { $queue } está en pausa, con { $count } en espera
needs-workers = { $queue } espera hace más de 5 minutos y nadie pide trabajo
needs-down = El destino de { $queue } no responde: { $error }
needs-task = La tarea "{ $title }" quedó finalizada en parte

# Queues.

kind = { $kind ->
        [lane] Por clave
        [inbox] Bandeja
       *[sync] Sincronización
    }
kind-what = { $kind ->
        [lane] Por clave, en orden: de cada clave una entrega a la vez, y lo que llega junto se entrega junto.
        [inbox] Bandeja: cada elemento por su cuenta, para quien lo tome primero.
       *[sync] Sincronización: de cada clave solo lo más nuevo.
    }
queues-lead = Cuánto espera, desde cuándo y qué tan rápido sale.
queues-has = Con algo
queues-name = Cola
queues-kind = Tipo
queues-waiting = En espera
queues-failing = Con error
queues-exhausted = Agotados
queues-oldest = El más viejo
queues-none-waits = nada espera
queues-waited = Espera (mediana / p95)
queues-processed-minute = Procesados / min
queues-failed-minute = Fallidos / min
queues-unfinished = Sin terminar
queues-error = El último error contiene
queues-cut = Se muestran los primeros; elija un estado para ver el resto por páginas.
queues-states = Estados
queues-key = Clave
queues-key-is = Clave, exacta
queues-see-key = Ver la clave
queues-items = Elementos
queues-empty = No hay colas
queues-empty-what = Una cola se declara en el archivo de configuración, o se crea con una llamada:
queues-pause = Pausar
queues-resume = Reanudar
queues-retry = Reintentar agotados
queues-pause-title = ¿Pausar { $name }?
queues-pause-what = { $count ->
        [0] No se entrega nada más hasta que alguien la reanude. Lo que llega se guarda.
        [one] No se entrega nada más hasta que alguien la reanude. Lo que llega se guarda, y 1 elemento en proceso termina.
       *[other] No se entrega nada más hasta que alguien la reanude. Lo que llega se guarda, y { $count } elementos en proceso terminan.
    }
queues-retry-title = { $count ->
        [one] ¿Reintentar 1 elemento?
       *[other] ¿Reintentar { $count } elementos?
    }
queues-retry-what = { $count ->
        [one] 1 elemento agotado vuelve a su lugar, con sus intentos en cero.
       *[other] { $count } elementos agotados vuelven a su lugar, con sus intentos en cero. Se reintentan hasta 10.000 por vez.
    }
queues-paused = { $name } quedó en pausa
queues-resumed = { $name } sigue
queues-retried = { $count ->
        [one] 1 elemento vuelve a intentarse
       *[other] { $count } elementos vuelven a intentarse
    }
queues-policy = Política en vigor
queues-managed = la fija el archivo de configuración
policy-lock_timeout = Sin aviso, queda libre en
policy-window = Ventana de agrupación
policy-max_wait = Espera máxima
policy-on_exhausted = Si el primero se agota
policy-hold = la clave espera a una persona
policy-continue = sigue con el siguiente
policy-max_attempts = Intentos
policy-backoff = Primera espera entre intentos
policy-typing_extension = Si escribe, se espera
policy-max_hold = Entrega, como mucho
policy-batch_max = Por entrega, hasta
policy-retention = Terminados, se guardan
items-id = Elemento
items-attempts = Intentos
items-came = Llegó
items-detail = Detalle
items-due = Se entrega
items-empty = Nada sin terminar
items-empty-what = Lo que llegue se ve aquí al momento. Pruébelo:
why = ¿Por qué?
key-window = Ventana de agrupación { $window }, como mucho { $max }
key-items = { $count ->
        [one] 1 sin terminar
       *[other] { $count } sin terminar
    }
key-all = Ver todos, también los terminados
key-empty = Nada sin terminar
key-head = va primero
item-attempt = Intento { $attempt }
item-attempts = { $attempts } de { $max }
item-gave-up = quien lo procesaba no quiso seguir
item-again = se reintenta
happened-enqueued = Llegó
happened-handed_out = Se entregó
happened-failed = Falló
happened-expired = Nadie avisó a tiempo
happened-exhausted = Se agotó
happened-processed = Se procesó
happened-skipped = No había nada que avisar
happened-returned = Se devolvió sin procesar
happened-superseded = Cambió mientras se procesaba
happened-cleared = Se le quitó: se vació su carril
happened-cancelled = Se canceló
happened-retried = Alguien lo reintentó
happened-edited = Alguien lo corrigió y reintentó
item-timeline = Qué pasó
item-payload = Contenido
item-until = si no avisa, queda libre
item-due = Se entrega
item-action = Acción
item-revision = Revisión
item-retry = Reintentar
item-edit = Corregir y reintentar
item-edit-title = Corregir y reintentar
item-edit-what = El contenido nuevo reemplaza al anterior. En la auditoría queda la huella de ambos.
item-edit-bad = El contenido no es JSON: { $cause }. Lo que escribió sigue aquí; corríjalo y pruebe de nuevo
item-cancel = Cancelar
item-cancel-title = ¿Cancelar este elemento?
item-cancel-what = No se procesa, y lo que espera detrás sigue. Queda en la auditoría.
item-retried = { $id } vuelve a intentarse
item-cancelled = { $id } quedó cancelado

# More states.

state-partially_completed = Finalizada en parte

# Audit.

audit-lead = Quién hizo qué, a qué y por qué. Nada se borra ni se cambia sin que se note.
audit-verify = Verificar la cadena
audit-whole = La cadena está entera: { $count } entradas, hasta { $head }
audit-action = Acción
audit-actor = Quién
audit-resource = Sobre qué
audit-resource-is = Sobre qué, exacto
who-system = El sistema
audit-n = N.º
audit-when = Cuándo
audit-detail = Detalle
audit-empty = Todavía no hay intervenciones
audit-empty-what = Aquí queda cada intervención: bloqueos forzados, reintentos, cambios de personas y de colas.
audit-lock_force_claim = Tomó un bloqueo ajeno
audit-lock_force_release = Liberó un bloqueo ajeno
audit-item_retry = Reintentó un elemento
audit-item_edit = Corrigió y reintentó
audit-item_cancel = Canceló un elemento
audit-lane_clear = Vació una clave
audit-database_life = La base de datos apareció en otra vida; se adelantaron los contadores
audit-queue_repair = Reparó una cola
audit-queue_put = Definió una cola
audit-queue_pause = Pausó una cola
audit-queue_resume = Reanudó una cola
audit-queue_purge = Olvidó lo terminado
audit-sync_install = Instaló una sincronización
audit-sync_remove = Quitó una sincronización
audit-sync_resync = Reenvió una sincronización
audit-sync_revived = Revivió tras una caída
audit-task_cancel = Canceló una tarea
audit-user_add = Agregó a una persona
audit-user_change = Cambió a una persona
audit-user_remove = Quitó a una persona
audit-token_create = Creó un token
audit-token_revoke = Revocó un token
audit-choice-token_revoke = Revocó un token o cerró sesión
audit-signed_out = Cerró sesión
audit-session_open = Inició sesión
audit-session_mint = Abrió una sesión ajena
audit-link_make = Hizo un enlace
audit-link_redeem = Usó un enlace

# Details of entries, by their names in the audit.

detail-before_ms = Anteriores a
detail-changed = Tuvo efecto
detail-count = Cuántos
detail-disabled = Deshabilitada
detail-expires_at_ms = Vence
detail-fence = Fence nuevo
detail-fence_before = Fence anterior
detail-holder_before = Lo tenía
detail-machine = De una máquina
detail-password_changed = Contraseña cambiada
detail-payload_after = Huella nueva
detail-payload_before = Huella anterior
detail-reason = Motivo
detail-role = Rol
detail-role_before = Rol anterior
detail-scope = Puede
detail-status_before = Estaba
detail-policy = Política
detail-push = Destino
detail-created = Nueva
detail-token = Token n.º
yes = sí
no = no

# Administration.

save = Guardar
admin-people = Personas
admin-tokens = Tokens
admin-settings = Configuración
people-lead = Quién puede entrar y qué puede hacer.
people-add = Agregar persona
people-add-what = Después, en su página, póngale una contraseña.
people-id = Usuario
people-name = Nombre
people-role = Rol
people-since = Desde
people-added = { $name } está en la lista; falta su contraseña
people-changed = Los datos de { $name } quedaron guardados
people-disabled = Se deshabilitó a { $name }: no puede entrar, y lo que tenía tomado quedó libre
people-enabled = { $name } puede entrar otra vez
people-removed = { $name } ya no está
people-enable = Habilitar
people-disable = Deshabilitar
people-remove = Quitar
people-disable-title = ¿Deshabilitar a { $name }?
people-disable-what = Sale ahora mismo: sus sesiones y tokens dejan de valer y pierde lo que tiene bloqueado. Se puede deshacer.
people-remove-title = ¿Quitar a { $name }?
people-remove-what = Sale ahora mismo, con sus tokens. Lo que hizo queda en la auditoría. No se puede deshacer.
people-password = Una contraseña nueva
people-password-what = Al menos 8 caracteres. Désela en persona; sus otras sesiones terminan. Un enlace de un solo uso se hace en la máquina del servidor.
people-password-set = Ponerla
people-change = Datos
people-way-in = Entrar
role = { $role ->
        [admin] Administración
        [editor] Edición
       *[viewer] Solo mira
    }
secret-kept = Ya lo guardé
token-lead = Con un token llama un programa. Se muestra al hacerlo, y nunca más.
token-new = Token nuevo
token-title = Token de { $name }
token-what = Cópielo ahora: no se guarda y no se vuelve a mostrar.
token-id = Token
token-user = De quién
token-kind = Tipo
token-of = { $kind ->
        [console] Sesión de la consola
        [session] Sesión de otra aplicación
       *[token] Token
    }
token-scope = Puede
token-all = todo lo de su dueño
token-expires = Vence
token-never = nunca
token-used = Último uso
token-speaks = Habla por
token-person = la persona
token-machine = una máquina
token-days = Días de vida
token-make = Hacer el token
token-revoke = Revocar
token-revoked = El token ya no vale
token-empty = No hay tokens
token-empty-what = Un token se hace en la página de la persona por la que habla.
settings-lead = Lo que está en vigor y de dónde sale cada valor.
settings-key = Clave
settings-value = Valor
settings-origin = De dónde
settings-queues = Políticas de las colas, en vigor
origin-default = de fábrica
origin-demo = la demo
origin-preset = la plantilla { $name }
origin-file = { $path }, línea { $line }
origin-config = el archivo de configuración
origin-call = una llamada a la API
state-enabled = Habilitada
state-disabled = Deshabilitada

# Synchronisation. The states are the seed's own words, which stand in the database's view too, in every language.

seed-pending = PENDIENTE
seed-in_process = EN_PROCESO
seed-processed = PROCESADO
seed-error = ERROR
seed-exhausted = AGOTADO
seed-cancelled = CANCELADO
state-installed = Trigger instalado
state-absent = Sin instalar
state-differs = Distinto de la configuración
state-blocked = No se puede instalar
state-taken = Nombre ocupado
state-no_triggers = Sin triggers
state-unknown = No se sabe
state-good = Bien
state-missing = Falta
state-stale = De antes
state-healthy = El módulo responde
state-down = El módulo no responde
