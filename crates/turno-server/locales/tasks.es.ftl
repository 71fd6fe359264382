# Tasks: states.

state-draft = Borrador
state-ready = Lista
state-processing = En proceso
state-partially_completed = Finalizada en parte
state-completed = Finalizada
state-task_cancelled = Anulada
state-line_pending = Pendiente
state-validated = Validada
state-applied = Aplicada
state-failed = Falló

# The list.

tasks-lead = Quién procesa cada tarea y cuáles están libres.
tasks-task = Tarea
tasks-number = n.º { $id }
tasks-status = Estado
tasks-lock = Bloqueo
tasks-lines = Líneas
tasks-lines-done = { $done } de { $all }
tasks-lines-applied = aplicadas
tasks-changed = Último cambio
tasks-any-status = Todos
tasks-any-lock = Todas
tasks-lock-free = Libres
tasks-lock-locked = Bloqueadas
tasks-lock-mine = Las mías
tasks-new = Nueva tarea
tasks-empty = No hay tareas
tasks-none-match = Ninguna tarea coincide con los filtros
tasks-bad-lock = "{ $value }" no es un estado de bloqueo; elija de la lista
tasks-empty-what = Una tarea es un movimiento de stock con líneas. Mientras una persona la procesa, está bloqueada.
tasks-empty-viewer = Las tareas nuevas aparecen aquí, con la persona que las procesa.
tasks-held-mine = La procesa usted desde
tasks-offered-to = Reservada para { $name }
tasks-offer-ends = Termina
tasks-place = · su puesto: { $place }
tasks-waiting = { $count ->
        [one] · 1 espera
       *[other] · { $count } esperan
    }

# One task.

task-number = Tarea { $id }
task-by = Creada por { $name }
task-ready = Marcar lista
task-readied = La tarea está lista para procesar
task-cancel = Anular tarea
task-cancel-title = ¿Anular la tarea?
task-cancel-what = Ya no se podrá procesar. Las líneas aplicadas quedan aplicadas.
task-cancel-keep = { $count ->
        [one] 1 línea ya se aplicó. Conservarla en el stock
       *[other] { $count } líneas ya se aplicaron. Conservarlas en el stock
    }
task-cancel-reason = Motivo (opcional)
task-cancelled = Se anuló la tarea
task-no-lines = Todavía no tiene líneas
task-no-lines-what = Edite el borrador y agregue una línea. Después márquela lista.
task-result-all = { $applied ->
        [one] Su única línea está aplicada.
       *[other] Sus { $applied } líneas están aplicadas.
    }
task-result-some = { $applied ->
        [0] Ninguna línea aplicada
        [one] 1 línea aplicada
       *[other] { $applied } líneas aplicadas
    }, { $open ->
        [one] 1 con error: vea abajo.
       *[other] { $open } con error: vea abajo.
    }
task-result-again = Procésela otra vez, corrija las líneas y finalice. Lo aplicado no se repite.
task-next = Siguiente: { $title }
task-others = Ver tareas libres
task-result-cancelled = Ya no se puede procesar.
task-held-from = la tuvo desde
task-held-to = hasta
task-history-more = Entradas anteriores: vea la API.
task-did-created = creó la tarea
task-did-edited = cambió el borrador
task-did-ready = la marcó lista
task-did-processing = empezó a procesarla
task-did-line_edited = cambió la línea { $line }
task-did-line_validated = validó la línea { $line }
task-did-line_applied = aplicó la línea { $line }
task-did-line_failed = no pudo aplicar la línea { $line }
task-did-finalized = { $status ->
        [completed] la finalizó
       *[other] la finalizó en parte
    }
task-did-cancelled = la anuló

line-article = Artículo
line-amount = Cantidad o series
line-amount-or-serials = Cantidad, o números de serie
line-actions = Acciones
line-quantity = Cantidad
line-serials = Números de serie
line-quantity-of = Cantidad de la línea { $line }, { $sku }
line-serials-of = Números de serie de la línea { $line }, { $sku }
line-no-serials = Sin números de serie todavía
line-movement = Movimiento
line-in = Entrada
line-out = Salida
line-kind = Se cuenta por
line-by-quantity = Por cantidad
line-by-serials = Por número de serie

# Drafts.

draft-edit = Editar borrador
draft-lead = Indique qué se mueve. Un borrador lo edita cualquiera con permiso y no se puede procesar.
draft-title = Título
draft-title-example = Recepción de notebooks, factura 1182
draft-more = Agregar línea
draft-hint = Las líneas vacías no cuentan. Varios números de serie: uno por renglón, o separados por comas.
draft-save = Guardar borrador
draft-save-ready = Guardar y marcar lista
draft-saved = El borrador quedó guardado
draft-over = La tarea ya no es un borrador: está { task-status }. { $status ->
        [completed] Ya no cambia; si falta algo, cree otra.
        [cancelled] Ya no cambia; si hace falta, cree otra.
       *[other] Para corregir sus líneas, procésela.
    }
draft-over-kept = Su texto no se guardó. Cópielo abajo si lo necesita.
draft-see = Ver tarea
draft-changed = { $name } cambió este borrador mientras usted escribía
draft-changed-what = Su versión no se guardó. Compare, y guarde la suya o cargue la guardada.
draft-stored = Versión guardada
draft-load = Descartar la mía y cargar la guardada
draft-save-anyway = Guardar la mía de todos modos
draft-newer = Otra persona guardó este borrador mientras usted escribía. Al guardar podrá comparar.
draft-newer-over = La tarea ya no es un borrador. Su texto no se puede guardar; cópielo si lo necesita.
draft-restored = Se recuperó su texto sin guardar.
draft-ended = Su sesión terminó. Su texto sigue aquí; guárdelo otra vez.
draft-no-answer = El servidor no responde. No se guardó nada; su texto queda en este navegador. Pruebe de nuevo.
draft-discard = Descartar
draft-bad-sku = Línea { $line }: escriba un artículo
draft-bad-quantity = Línea { $line }: la cantidad es un número entero de 1 a 1.000.000.000.000
draft-twice = Línea { $line }: el número de serie { $serial } está repetido
draft-bad-serial = Línea { $line }: un número de serie es demasiado largo o tiene caracteres no válidos

# Process mode.

process = Procesar
process-free = Lista para procesar.
process-noscript = Para procesar hace falta JavaScript, que informa su actividad.
process-read-only = Solo lectura.
process-reserved = Reservada para quien sigue en la fila.
process-ask = Solicitar liberación
process-ask-what = El titular recibe un aviso con el nombre de usted.
process-ask-message = Mensaje (opcional)
process-ask-send = Enviar solicitud
process-asked = Solicitó la liberación a { $name } a las { $at }.
process-declined = { $name } respondió a las { $at }: ahora no.
process-not-asked = La tarea está libre. Puede procesarla.
process-turn = Pedir turno
process-position = Está en la fila: puesto { $position }
process-next = Es el siguiente en la fila
process-leave-turn = Dejar la fila
process-missed = Su turno pasó. Puede pedir otro.
process-missed-free = Su turno pasó. La tarea sigue libre.
process-over-completed = La tarea se finalizó. Usted salió de la fila.
process-over-cancelled = La tarea se anuló. Usted salió de la fila.
turns-over = La tarea se finalizó. Usted salió de la fila.
turns-cancelled = La tarea se anuló. Usted salió de la fila.
turns-missed = Su turno pasó.
process-left = Sin guardar: { $typed }
process-offered = ¡Es su turno!
process-offered-what = Reservada para usted · { $left }
process-offered-title = ¡Su turno! { $left } · { $title }
process-pass = Ceder el turno
process-elsewhere = La procesa usted en otra ventana desde
process-moved-near = Usted continuó en otra ventana a las { $at }
process-moved-far = Usted continuó en otro navegador o equipo a las { $at }
process-moved-what = Esta ventana es de solo lectura.
process-here = Continuar aquí
process-renewing = Bloqueo activo
process-waiting = { $count ->
        [one] 1 persona espera su turno
       *[other] { $count } personas esperan su turno
    }
process-silent = Sin conexión desde { $since } · bloqueo válido hasta { $until }
process-leave = Liberar tarea
process-warned = ¿Sigue ahí?
process-warn-idle = Sin actividad: el bloqueo termina en { $left }. Pulse una tecla para conservarlo.
process-warn-rolling = Sin cambios guardados: el bloqueo termina en { $left }. Guarde o valide una línea para conservarlo.
process-keep = Conservar bloqueo
process-requested = { $name } solicita la liberación ({ $at }).
process-release = Liberar
process-not-now = Ahora no
process-unknown = Estado del bloqueo desconocido
process-unknown-what = El servidor no responde. La edición está en pausa; su texto sigue aquí.
process-ended = Su sesión terminó
process-ended-what = El estado del bloqueo es desconocido. No se puede editar.
process-ended-kept = Su texto sin guardar está abajo. Inicie sesión de nuevo en este navegador para continuar.
process-lost = Lock perdido
process-lost-no_heartbeat = Venció: esta página dejó de renovarlo (conexión, suspensión o servidor).
process-lost-idle = Venció: sin actividad.
process-lost-rolling_timeout = Venció: demasiado tiempo sin guardar ni validar.
process-lost-override = { $name } tomó o liberó la tarea. Motivo: { $note }
process-lost-user_disabled = Su usuario fue deshabilitado.
process-lost-released = La liberó usted en otra ventana o al salir de esta.
process-lost-other = Ya no la tiene.
process-kept = Su texto sin guardar está abajo.
process-retry = Reintentar claim
process-finishing = Finalizando línea por línea…
process-force-release-title = ¿Liberar esta tarea a la fuerza?
process-force-claim-title = ¿Tomar el lock de esta tarea?
process-save = Guardar
process-discard = Descartar lo mío
process-saving = Guardando…
process-saved = Guardado
process-unsaved = Sin guardar
process-before = Antes: { $value }
process-conflict = Sin guardar. Mientras tanto se guardó: { $saved }
process-conflict-by = Sin guardar. Mientras tanto { $name } guardó: { $saved }
process-conflict-mine = Sin guardar. Mientras tanto usted guardó en otra ventana: { $saved }
process-retrying = Sin guardar: sin respuesta. Se reintenta automáticamente.
process-no-answer = El servidor no respondió. Pruebe de nuevo.
process-asking = Pidiendo…
process-slow = El servidor tarda. Se sigue esperando.
process-leaving = Sin respuesta. La tarea se libera cuando el servidor responda.
process-leaving-save = Sin respuesta. La tarea se libera cuando se guarde su texto.
process-sign-out-unsaved = Hay texto que no se puede guardar. Queda en este navegador. ¿Salir igual?
process-validate-none = Sin respuesta: no se sabe si se validó. Pruebe de nuevo.
process-finishing-silent = Sin respuesta desde { $since }. Se pregunta de nuevo automáticamente. Ninguna línea se aplica dos veces.
process-stuck = Hay líneas sin guardar. Revise las marcadas antes de finalizar.
process-stuck-line = Todavía no se puede finalizar. Línea { $line }: { $why }
process-bad-quantity = La cantidad es un número entero de 1 a 1.000.000.000.000.
process-bad-serials = Escriba al menos un número de serie.
process-validate = Validar
process-validate-line = Validar la línea { $line }
process-validated = Línea { $line } validada.
process-finalize = { $count ->
        [one] Finalizar (1 línea)
       *[other] Finalizar ({ $count } líneas)
    }
process-finalize-what = Cada línea se aplica por separado. Si una falla, las otras continúan.
process-keys-save = Los cambios se guardan automáticamente
process-keys-next = línea siguiente (en números de serie: renglón siguiente)
process-keys-finalize = finalizar
key-enter = Intro
